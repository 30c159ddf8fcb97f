package pgcluster

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"time"
)

const (
	postmasterPID = "postmaster.pid"
	pollInterval  = 20 * time.Millisecond
	// vacateTimeout is how long a server that is shutting down (its parent was killed a moment
	// ago) may take to leave the folder.
	vacateTimeout = 15 * time.Second
)

// lockFile is what matters of postmaster.pid, whose lines are defined in Postgres's
// src/include/utils/pidfile.h.
type lockFile struct {
	pid    int
	status string // "starting", "stopping", "ready", "standby"
}

func (f *folder) readLock() (lockFile, bool) {
	text, err := os.ReadFile(filepath.Join(f.path, postmasterPID))
	if err != nil {
		return lockFile{}, false
	}
	lines := strings.Split(string(text), "\n")
	pid, err := strconv.Atoi(strings.TrimSpace(lines[0]))
	if err != nil || pid <= 0 {
		return lockFile{}, false
	}
	lock := lockFile{pid: pid}
	if len(lines) >= 8 {
		lock.status = strings.TrimSpace(lines[7])
	}
	return lock, true
}

// vacate makes sure that no server runs on the folder. A lock left by a dead process is harmless:
// Postgres sees that itself. A lock whose process id meanwhile belongs to another program is
// rewritten to name us, the server's parent, which Postgres takes for stale as well, keeping its
// check for surviving shared memory. A server that is stopping is waited for.
func (f *folder) vacate(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, vacateTimeout)
	defer cancel()
	for {
		lock, ok := f.readLock()
		if !ok || !alive(lock.pid) {
			return nil
		}
		if !f.isServer(lock.pid) {
			return f.disown(lock.pid)
		}
		if lock.status != "stopping" || !pause(ctx) {
			return &Error{
				Kind:    FolderInUse,
				Message: fmt.Sprintf("another Postgres (process %d) is running on the data folder %s", lock.pid, f.path),
				Hint:    "use that one, stop it, or choose another folder",
			}
		}
	}
}

// alive tells whether a process of that id exists, whoever it belongs to.
func alive(pid int) bool {
	err := syscall.Kill(pid, 0)
	return err == nil || errors.Is(err, syscall.EPERM)
}

// isServer tells whether the living process pid is, as far as can be seen, the folder's server.
func (f *folder) isServer(pid int) bool {
	if runtime.GOOS != "linux" {
		return true
	}
	proc := filepath.Join("/proc", strconv.Itoa(pid))
	cwd, err := os.Readlink(filepath.Join(proc, "cwd"))
	switch {
	case err == nil:
		return cwd == f.path // a postmaster works in its data folder
	case errors.Is(err, fs.ErrNotExist):
		return false // ended, and its parent has not collected it
	}
	name, err := os.ReadFile(filepath.Join(proc, "comm"))
	return err != nil || strings.TrimSpace(string(name)) == "postgres"
}

func (f *folder) disown(pid int) error {
	root, err := os.OpenRoot(f.path)
	if err != nil {
		return unusable(f.path, err)
	}
	defer func() { _ = root.Close() }()
	text, err := root.ReadFile(postmasterPID)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return unusable(f.path, err)
	}
	rest, ok := strings.CutPrefix(string(text), strconv.Itoa(pid)+"\n")
	if !ok {
		return nil // it changed under us; Postgres decides
	}
	if err := f.write(root, postmasterPID, []byte(strconv.Itoa(os.Getpid())+"\n"+rest)); err != nil {
		return unusable(f.path, err)
	}
	return nil
}

// pause waits one poll interval; false when ctx ended first.
func pause(ctx context.Context) bool {
	t := time.NewTimer(pollInterval)
	defer t.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-t.C:
		return true
	}
}
