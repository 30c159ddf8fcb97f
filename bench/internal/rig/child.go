package rig

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"time"
)

const (
	stopTimeout  = 10 * time.Second
	startTimeout = 20 * time.Second
)

// child is a server process that this program started.
type child struct {
	name string
	pid  int
	done chan struct{} // closed when it has ended
	log  string        // file with what it said
}

// startChild starts a program in a process group of its own, so that a Ctrl-C reaches only us, with
// its output in a file of dir. On Linux it also ends when we are killed.
func startChild(dir, name string, who *syscall.Credential, path string, args ...string) (*child, error) {
	c := &child{name: name, done: make(chan struct{}), log: filepath.Join(dir, name+".log")}
	log, err := os.Create(c.log)
	if err != nil {
		return nil, fmt.Errorf("starting %s: %w", name, err)
	}
	defer func() { _ = log.Close() }()
	cmd := exec.Command(path, args...)
	cmd.Dir = dir
	cmd.Env = CleanEnv()
	cmd.Stdout, cmd.Stderr = log, log
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Credential: who}
	endWithUs(cmd.SysProcAttr)
	started := make(chan error, 1)
	go func() {
		runtime.LockOSThread() // the signal of endWithUs follows the thread that forked
		defer runtime.UnlockOSThread()
		err := cmd.Start()
		if err == nil {
			c.pid = cmd.Process.Pid
		}
		started <- err
		if err == nil {
			_ = cmd.Wait() // how it ended is in its log
			close(c.done)
		}
	}()
	if err := <-started; err != nil {
		return nil, fmt.Errorf("starting %s: %w", name, err)
	}
	return c, nil
}

// stop ends the process: by SIGINT, and while it has not ended by SIGTERM and SIGKILL.
func (c *child) stop() error {
	for _, sig := range []syscall.Signal{syscall.SIGINT, syscall.SIGTERM, syscall.SIGKILL} {
		select {
		case <-c.done:
			return nil
		default:
		}
		_ = syscall.Kill(c.pid, sig)
		select {
		case <-c.done:
			return nil
		case <-time.After(stopTimeout):
		}
	}
	return fmt.Errorf("stopping %s: process %d does not end", c.name, c.pid)
}

func (c *child) alive() bool {
	select {
	case <-c.done:
		return false
	default:
		return true
	}
}

// lastWords is the end of what the process said.
func (c *child) lastWords() string {
	lines := strings.Split(readText(c.log), "\n")
	return strings.Join(lines[max(0, len(lines)-10):], "\n")
}

// CleanEnv is our environment without what would redirect clients and servers.
func CleanEnv() []string {
	var env []string
	for _, kv := range os.Environ() {
		if !strings.HasPrefix(kv, "PG") && !strings.HasPrefix(kv, "MBUS_") {
			env = append(env, kv)
		}
	}
	return env
}
