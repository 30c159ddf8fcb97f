package pgcluster

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
)

const (
	// initFolder is where initdb works. Its content moves up when it is whole, PG_VERSION last,
	// so a folder with PG_VERSION is whole and one with initFolder alone is to be made anew.
	initFolder  = ".mbusproxy-initdb"
	versionFile = "PG_VERSION"
)

// folder is a data folder and the account that the server has there. All writing goes through an
// os.Root: the folder belongs to the server's account, and a link planted there must not lead a
// parent that is root out of it.
type folder struct {
	path string // absolute, links resolved
	who  account
}

// openFolder makes the folder if it is missing and checks that the server's account can use it.
func openFolder(path string, who account) (*folder, error) {
	abs, err := filepath.Abs(path)
	if err != nil {
		return nil, unusable(path, err)
	}
	if err := makeFolders(abs, who); err != nil {
		return nil, err
	}
	resolved, err := filepath.EvalSymlinks(abs)
	if err != nil {
		return nil, unusable(abs, err)
	}
	f := &folder{path: resolved, who: who}
	if who.stepDown {
		if dir := who.unreachable(resolved); dir != "" {
			return nil, &Error{
				Kind: FolderUnusable,
				Message: fmt.Sprintf("the data folder %s cannot be reached by the user %s, who may not enter %s (Postgres refuses to run as root, so it runs as %s)",
					resolved, who.name, dir, who.name),
				Hint: "choose a folder that every user can reach, such as /var/lib/mbusproxy, or start mbusproxy as an ordinary user",
			}
		}
	}
	return f, nil
}

// makeFolders is os.MkdirAll whose new folders can be passed through whatever the umask is; the
// last one becomes the account's own.
func makeFolders(path string, who account) error {
	info, err := os.Stat(path)
	switch {
	case err == nil && !info.IsDir():
		return unusable(path, syscall.ENOTDIR)
	case err == nil:
		return nil
	case !errors.Is(err, fs.ErrNotExist):
		return unusable(path, err)
	}
	var missing []string
	for dir := path; ; dir = filepath.Dir(dir) {
		if _, err := os.Stat(dir); err == nil || dir == filepath.Dir(dir) {
			break
		}
		missing = append(missing, dir)
	}
	for i := len(missing) - 1; i >= 0; i-- {
		mode := os.FileMode(0o755)
		if i == 0 {
			mode = 0o700
		}
		if err := os.Mkdir(missing[i], mode); err != nil {
			return unusable(path, err)
		}
		if err := os.Chmod(missing[i], mode); err != nil {
			return unusable(path, err)
		}
	}
	if who.stepDown {
		if err := os.Chown(path, who.uid, who.gid); err != nil {
			return unusable(path, err)
		}
	}
	return nil
}

func unusable(path string, err error) *Error {
	reason := err
	var pe *fs.PathError
	if errors.As(err, &pe) {
		reason = pe.Err
		if pe.Path != path {
			reason = fmt.Errorf("%s %s: %w", pe.Op, pe.Path, pe.Err)
		}
	}
	return &Error{
		Kind:    FolderUnusable,
		Message: fmt.Sprintf("the data folder %s cannot be used: %v", path, reason),
		Hint:    "choose a folder that you may write to",
		Err:     err,
	}
}

// prepare makes the cluster unless the folder holds one already.
func (f *folder) prepare(ctx context.Context, inst Installation, sync bool) error {
	info, err := os.Stat(f.path)
	if err != nil {
		return unusable(f.path, err)
	}
	entries, err := os.ReadDir(f.path)
	if err != nil {
		return unusable(f.path, err)
	}
	names := make(map[string]bool, len(entries))
	for _, e := range entries {
		names[e.Name()] = true
	}
	switch {
	case names[versionFile]:
		return f.checkExisting(info, inst)
	case len(names) == 0, names[initFolder]:
		return f.create(ctx, info, entries, inst, sync)
	}
	return &Error{
		Kind:    FolderUnusable,
		Message: fmt.Sprintf("the data folder %s is not empty and holds no Postgres cluster", f.path),
		Hint:    "choose an empty folder, or one that mbusproxy made",
	}
}

func (f *folder) checkExisting(info os.FileInfo, inst Installation) error {
	if !f.who.owns(info) {
		return &Error{
			Kind:    FolderUnusable,
			Message: fmt.Sprintf("the data folder %s belongs to %s, but Postgres would run as %s", f.path, ownerName(info), f.who.name),
			Hint:    "choose another folder, or start mbusproxy as the user whose folder it is",
		}
	}
	text, err := os.ReadFile(filepath.Join(f.path, versionFile))
	if err != nil {
		return unusable(f.path, err)
	}
	version := strings.TrimSpace(string(text))
	if version != strconv.Itoa(inst.Major) {
		return &Error{
			Kind: OtherVersion,
			Message: fmt.Sprintf("the data folder %s was made by Postgres %s, but the Postgres found in %s is %s",
				f.path, version, inst.BinDir, inst.Version),
			Hint: fmt.Sprintf("choose another folder, set %s to a Postgres %s, or move the data over with pg_upgrade or pg_dump",
				EnvBinDir, version),
		}
	}
	if conf, err := os.ReadFile(filepath.Join(f.path, "postgresql.conf")); err != nil || !strings.Contains(string(conf), settingsFile) {
		return &Error{
			Kind:    FolderUnusable,
			Message: fmt.Sprintf("the data folder %s holds a Postgres cluster that mbusproxy did not make", f.path),
			Hint:    "choose another folder, or start that cluster yourself and use `mbusproxy serve`",
		}
	}
	return nil
}
