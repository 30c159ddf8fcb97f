package pgcluster

import (
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"time"
)

// process is one run of the server.
type process struct {
	pid    int
	done   chan struct{} // closed when it has ended
	output func() string // what it said since it started; may be cut
}

// startProcess runs postgres as a child in a process group of its own, so that a Ctrl-C at the
// terminal reaches only the parent, who then ends the server in order.
func startProcess(cmd *exec.Cmd, who account, f *folder, log io.Writer) (*process, error) {
	p := &process{done: make(chan struct{})}
	var file *os.File
	if log == nil {
		var err error
		if file, err = f.openLog(); err != nil {
			return nil, err
		}
		start, err := file.Seek(0, io.SeekEnd)
		if err != nil {
			_ = file.Close()
			return nil, err
		}
		cmd.Stdout, cmd.Stderr = file, file
		path := filepath.Join(f.path, logFile)
		p.output = func() string { return readFrom(path, start) }
	} else {
		tee := &tailWriter{to: log}
		cmd.Stdout, cmd.Stderr = tee, tee
		p.output = tee.String
	}
	cmd.WaitDelay = 5 * time.Second // for the log's pipe, which dying backends may still hold
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Credential: who.credential()}
	setParentDeath(cmd.SysProcAttr)

	started := make(chan error, 1)
	go func() {
		// The kernel's parent-death signal follows the thread, not the process: keep the
		// thread that forks for as long as the server lives.
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		err := cmd.Start()
		if file != nil {
			_ = file.Close() // the child has its own
		}
		if err != nil {
			started <- err
			return
		}
		p.pid = cmd.Process.Pid
		started <- nil
		_ = cmd.Wait() // how it ended is told by its log
		close(p.done)
	}()
	if err := <-started; err != nil {
		return nil, err
	}
	return p, nil
}

// signal sends sig unless the process has been reaped.
func (p *process) signal(sig syscall.Signal) {
	select {
	case <-p.done:
	default:
		_ = syscall.Kill(p.pid, sig)
	}
}

// ended waits for the end; false when the time or the extra channel (may be nil) came first.
func (p *process) ended(within time.Duration, cancel <-chan struct{}) bool {
	t := time.NewTimer(within)
	defer t.Stop()
	select {
	case <-p.done:
		return true
	case <-t.C:
	case <-cancel:
	}
	select {
	case <-p.done:
		return true
	default:
		return false
	}
}

// serverEnv is the environment of initdb and postgres: ours without Postgres's own variables,
// which would redirect them.
func serverEnv(home string) []string {
	var env []string
	for _, kv := range os.Environ() {
		if strings.HasPrefix(kv, "PG") || strings.HasPrefix(kv, "HOME=") || strings.HasPrefix(kv, "LC_") || strings.HasPrefix(kv, "LANG") {
			continue
		}
		env = append(env, kv)
	}
	return append(env, "HOME="+home, "LC_ALL=C")
}

const keepBytes = 16 << 10

// tailWriter passes on what is written and keeps the last keepBytes of it.
type tailWriter struct {
	to   io.Writer
	mu   sync.Mutex
	kept []byte
}

func (w *tailWriter) Write(b []byte) (int, error) {
	w.mu.Lock()
	w.kept = append(w.kept, b...)
	if over := len(w.kept) - keepBytes; over > 0 {
		w.kept = append(w.kept[:0], w.kept[over:]...)
	}
	w.mu.Unlock()
	return w.to.Write(b)
}

func (w *tailWriter) String() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return string(w.kept)
}

func readFrom(path string, offset int64) string {
	file, err := os.Open(path)
	if err != nil {
		return ""
	}
	defer func() { _ = file.Close() }()
	text, err := io.ReadAll(io.NewSectionReader(file, offset, keepBytes))
	if err != nil && !errors.Is(err, io.EOF) {
		return ""
	}
	return string(text)
}

// complaint picks the line of a program's output that says what went wrong.
func complaint(output string, err error) string {
	lines := strings.Split(strings.TrimSpace(output), "\n")
	for _, mark := range []string{"FATAL:", "PANIC:", "error:", "ERROR:"} {
		for _, line := range lines {
			if _, what, ok := strings.Cut(line, mark); ok {
				return strings.TrimSpace(what)
			}
		}
	}
	if last := strings.TrimSpace(lines[len(lines)-1]); last != "" {
		return last
	}
	if err != nil {
		return err.Error()
	}
	return "it said nothing"
}
