package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"mbusproxy/internal/pgcluster"
)

// asProgram makes the test binary, run again with this variable set, the program itself.
const asProgram = "RUN_AS_MBUSPROXY"

// server is the Postgres for the tests of serve and init.
var server *pgcluster.Cluster

func TestMain(m *testing.M) {
	if os.Getenv(asProgram) != "" {
		main()
		return
	}
	os.Exit(runTests(m))
}

func runTests(m *testing.M) int {
	var err error
	server, err = pgcluster.Temp(pgcluster.Config{})
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	code := m.Run()
	if err := server.Stop(context.Background()); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return code
}

// program is mbusproxy, run as a process of its own.
type program struct {
	t      *testing.T
	cmd    *exec.Cmd
	out    *transcript // standard output
	log    *transcript // standard error
	ended  chan struct{}
	status int // valid when ended is closed
}

const patience = 60 * time.Second

// start runs mbusproxy with arguments; env holds further NAME=value. Of the environment's own settings it
// gets the one for which Postgres to use.
func start(t *testing.T, env []string, args ...string) *program {
	t.Helper()
	return startCommand(t, env, exec.Command(os.Args[0], args...))
}

// startCommand is start for a command that runs the test binary in some other way.
func startCommand(t *testing.T, env []string, cmd *exec.Cmd) *program {
	t.Helper()
	p := &program{t: t, cmd: cmd, out: newTranscript(), log: newTranscript(), ended: make(chan struct{})}
	for _, kv := range os.Environ() {
		if !strings.HasPrefix(kv, "MBUS_") || strings.HasPrefix(kv, pgcluster.EnvBinDir+"=") {
			p.cmd.Env = append(p.cmd.Env, kv)
		}
	}
	p.cmd.Env = append(append(p.cmd.Env, asProgram+"=1"), env...)
	p.cmd.Stdout, p.cmd.Stderr = p.out, p.log
	if err := p.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go func() {
		_ = p.cmd.Wait()
		p.status = p.cmd.ProcessState.ExitCode()
		close(p.ended)
	}()
	t.Cleanup(func() {
		select {
		case <-p.ended:
		default:
			_ = p.cmd.Process.Kill()
			<-p.ended
		}
	})
	return p
}

// run1 starts the program and waits until it has ended.
func run1(t *testing.T, env []string, args ...string) *program {
	t.Helper()
	p := start(t, env, args...)
	p.await()
	return p
}

func (p *program) await() {
	p.t.Helper()
	limit := time.NewTimer(patience)
	defer limit.Stop()
	select {
	case <-p.ended:
	case <-limit.C:
		p.t.Fatalf("no end in sight; stdout:\n%s\nstderr:\n%s", p.out, p.log)
	}
}

func (p *program) signal(sig syscall.Signal) {
	p.t.Helper()
	if err := p.cmd.Process.Signal(sig); err != nil {
		p.t.Fatal(err)
	}
}

// wantStatus waits until the program has ended and checks its exit status.
func (p *program) wantStatus(status int) {
	p.t.Helper()
	p.await()
	if p.status != status {
		p.t.Errorf("exit status %d, want %d; stderr:\n%s", p.status, status, p.log)
	}
}

// wantFailure checks that the program failed with one sentence and a hint.
func (p *program) wantFailure(status int, sentence, hint string) {
	p.t.Helper()
	p.wantStatus(status)
	lines := strings.Split(strings.TrimSpace(p.log.String()), "\n")
	for len(lines) > 0 && !strings.HasPrefix(lines[0], "mbusproxy: ") {
		lines = lines[1:] // the log's own lines
	}
	if len(lines) != 2 || !strings.Contains(lines[0], sentence) ||
		!strings.HasPrefix(lines[1], "hint: ") || !strings.Contains(lines[1], hint) {
		p.t.Errorf("want a line with %q and a hint with %q, got:\n%s", sentence, hint, p.log)
	}
}

// transcript is output that can be waited for.
type transcript struct {
	mu   sync.Mutex
	text bytes.Buffer
	more *sync.Cond
}

func newTranscript() *transcript {
	t := &transcript{}
	t.more = sync.NewCond(&t.mu)
	return t
}

func (t *transcript) Write(b []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	defer t.more.Broadcast()
	return t.text.Write(b)
}

func (t *transcript) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.text.String()
}

// awaitText waits until the program's standard output or log holds text.
func (p *program) awaitText(tr *transcript, text string) {
	p.t.Helper()
	found := make(chan struct{})
	gaveUp := false
	go func() {
		defer close(found)
		tr.mu.Lock()
		defer tr.mu.Unlock()
		for !gaveUp && !strings.Contains(tr.text.String(), text) {
			tr.more.Wait()
		}
	}()
	limit := time.NewTimer(patience)
	defer limit.Stop()
	select {
	case <-found:
		return
	case <-p.ended:
	case <-limit.C:
	}
	tr.mu.Lock()
	gaveUp = true
	tr.more.Broadcast()
	tr.mu.Unlock()
	<-found
	if !strings.Contains(tr.String(), text) {
		p.t.Fatalf("waited for %q in vain; stdout:\n%s\nstderr:\n%s", text, p.out, p.log)
	}
}

// hold listens on a free port and returns it.
func hold(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	return l.Addr().String()
}

// reachable makes a folder that Postgres, run as another user by root, can reach.
func reachable(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "mbus-cmd-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	if err := os.Chmod(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	return dir
}

// noServerOn checks that no Postgres runs on the data folder.
func noServerOn(t *testing.T, data string) {
	t.Helper()
	if _, err := os.Stat(filepath.Join(data, "postmaster.pid")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("Postgres still runs on %s: %v", data, err)
	}
}
