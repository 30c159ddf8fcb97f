package pgcluster

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"sort"
	"syscall"
)

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
