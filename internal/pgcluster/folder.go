package pgcluster

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"sort"
	"strconv"
	"strings"
	"syscall"
)

const (
	// initFolder is where initdb works. Its content moves up when it is whole, PG_VERSION last,
	// so a folder with PG_VERSION is whole and one with initFolder alone is to be made anew.
	initFolder   = ".mbusproxy-initdb"
	versionFile  = "PG_VERSION"
	settingsFile = "mbusproxy.conf" // included from postgresql.conf, written at each start
	hbaFile      = "pg_hba.conf"    // written at each start
	logFile      = "server.log"
	certFile     = "server.crt"
	keyFile      = "server.key"
	socketNote   = "mbusproxy.socket" // names the folder of this run's socket

	maxLogBytes = 10 << 20 // a server.log larger than this is begun anew at the next start
)

var defaultHBA = []string{
	"local all all trust",
	"host all all 127.0.0.1/32 trust",
	"host all all ::1/128 trust",
	"local replication all trust",
	"host replication all 127.0.0.1/32 trust",
	"host replication all ::1/128 trust",
}

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

// create runs initdb. What lies in the folder is left from an interrupted run and is removed.
func (f *folder) create(ctx context.Context, info os.FileInfo, leftovers []os.DirEntry, inst Installation, sync bool) error {
	if f.who.stepDown {
		if err := os.Chown(f.path, f.who.uid, f.who.gid); err != nil {
			return unusable(f.path, err)
		}
	}
	if info.Mode().Perm() != 0o700 {
		// Postgres insists on it.
		if err := os.Chmod(f.path, 0o700); err != nil {
			return unusable(f.path, err)
		}
	}
	root, err := os.OpenRoot(f.path)
	if err != nil {
		return unusable(f.path, err)
	}
	defer func() { _ = root.Close() }()
	for _, e := range leftovers {
		if err := root.RemoveAll(e.Name()); err != nil {
			return unusable(f.path, err)
		}
	}
	if err := root.Mkdir(initFolder, 0o700); err != nil {
		return unusable(f.path, err)
	}
	if err := f.own(root, initFolder); err != nil {
		return unusable(f.path, err)
	}
	if err := f.runInitdb(ctx, inst, sync); err != nil {
		return err
	}
	conf, err := root.OpenFile(filepath.Join(initFolder, "postgresql.conf"), os.O_WRONLY|os.O_APPEND, 0)
	if err != nil {
		return unusable(f.path, err)
	}
	_, err = fmt.Fprintf(conf, "\ninclude_if_exists = '%s'\n", settingsFile)
	if err := errors.Join(err, conf.Close()); err != nil {
		return unusable(f.path, err)
	}
	made, err := os.ReadDir(filepath.Join(f.path, initFolder))
	if err != nil {
		return unusable(f.path, err)
	}
	// PG_VERSION is what says that the folder is whole.
	sort.SliceStable(made, func(i, j int) bool { return made[i].Name() != versionFile && made[j].Name() == versionFile })
	for _, e := range made {
		if err := root.Rename(filepath.Join(initFolder, e.Name()), e.Name()); err != nil {
			return unusable(f.path, err)
		}
	}
	if err := root.Remove(initFolder); err != nil {
		return unusable(f.path, err)
	}
	return nil
}

func (f *folder) runInitdb(ctx context.Context, inst Installation, sync bool) error {
	locale := "C"
	if runtime.GOOS == "linux" {
		locale = "C.UTF-8"
	}
	args := []string{
		"-D", filepath.Join(f.path, initFolder), "-U", "postgres", "-A", "trust",
		"-E", "UTF8", "--locale", locale, "--lc-messages", "C",
	}
	if !sync {
		args = append(args, "--no-sync")
	}
	cmd := exec.CommandContext(ctx, filepath.Join(inst.BinDir, "initdb"), args...)
	cmd.Dir = "/" // the current folder may be closed to the account
	cmd.Env = serverEnv(f.path)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Credential: f.who.credential()}
	out, err := cmd.CombinedOutput()
	if err == nil {
		return nil
	}
	if ctx.Err() != nil {
		return fmt.Errorf("making a Postgres cluster: %w", ctx.Err())
	}
	return &Error{
		Kind:    StartFailed,
		Message: fmt.Sprintf("initdb could not make a cluster in %s: %s", f.path, complaint(string(out), err)),
		Err:     err,
	}
}

// writeSettings writes what this start decides: settings, access rules, certificate.
func (f *folder) writeSettings(cfg Config) error {
	root, err := os.OpenRoot(f.path)
	if err != nil {
		return unusable(f.path, err)
	}
	defer func() { _ = root.Close() }()

	settings := map[string]string{}
	for k, v := range cfg.Settings {
		settings[k] = v
	}
	if cfg.TLSCert != "" {
		settings["ssl"] = "on"
		for from, to := range map[string]string{cfg.TLSCert: certFile, cfg.TLSKey: keyFile} {
			text, err := os.ReadFile(from)
			if err != nil {
				return fmt.Errorf("copying the server's certificate: %w", err)
			}
			if err := f.write(root, to, text); err != nil {
				return unusable(f.path, err)
			}
		}
	}
	var conf strings.Builder
	conf.WriteString("# Written by mbusproxy at each start.\n")
	escape := strings.NewReplacer(`\`, `\\`, `'`, `''`, "\n", `\n`)
	names := make([]string, 0, len(settings))
	for k := range settings {
		names = append(names, k)
	}
	sort.Strings(names)
	for _, k := range names {
		fmt.Fprintf(&conf, "%s = '%s'\n", k, escape.Replace(settings[k]))
	}
	hba := cfg.HBA
	if hba == nil {
		hba = defaultHBA
	}
	rules := "# Written by mbusproxy at each start.\n" + strings.Join(hba, "\n") + "\n"
	if err := f.write(root, settingsFile, []byte(conf.String())); err != nil {
		return unusable(f.path, err)
	}
	if err := f.write(root, hbaFile, []byte(rules)); err != nil {
		return unusable(f.path, err)
	}
	return nil
}

// write replaces a file whole, readable by the server's account alone.
func (f *folder) write(root *os.Root, name string, text []byte) error {
	if err := root.Remove(name); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if err := root.WriteFile(name, text, 0o600); err != nil {
		return err
	}
	return f.own(root, name)
}

func (f *folder) own(root *os.Root, name string) error {
	if !f.who.stepDown {
		return nil
	}
	return root.Lchown(name, f.who.uid, f.who.gid)
}

// openLog opens server.log for appending.
func (f *folder) openLog() (*os.File, error) {
	root, err := os.OpenRoot(f.path)
	if err != nil {
		return nil, unusable(f.path, err)
	}
	defer func() { _ = root.Close() }()
	if info, err := root.Stat(logFile); err == nil && info.Size() > maxLogBytes {
		if err := root.Remove(logFile); err != nil {
			return nil, unusable(f.path, err)
		}
	}
	log, err := root.OpenFile(logFile, os.O_CREATE|os.O_APPEND|os.O_RDWR, 0o600)
	if err != nil {
		return nil, unusable(f.path, err)
	}
	if err := f.own(root, logFile); err != nil {
		_ = log.Close()
		return nil, unusable(f.path, err)
	}
	return log, nil
}

// noteSocketDir writes down where this run's socket is, and removes the folder of the last run if
// its parent was killed and could not. Only an empty folder goes: the note may be anybody's.
func (f *folder) noteSocketDir(dir string) {
	root, err := os.OpenRoot(f.path)
	if err != nil {
		return
	}
	defer func() { _ = root.Close() }()
	if last, err := root.ReadFile(socketNote); err == nil && strings.HasPrefix(filepath.Base(string(last)), socketPrefix) {
		_ = syscall.Rmdir(string(last))
	}
	_ = f.write(root, socketNote, []byte(dir)) // without it a folder stays in /tmp, no more
}
