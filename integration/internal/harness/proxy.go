package harness

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgconn"

	"mbusproxy/internal/pgcluster"
)

// Proxy is a running `mbusproxy serve`.
type Proxy struct {
	Endpoint Endpoint // of its own; flags may give it more
	cmd      *exec.Cmd
	binary   string
	flags    []string
	log      *os.File      // its stderr and stdout
	exited   chan struct{} // closed when cmd.Wait has returned
	exitErr  error         // valid once exited is closed
	told     atomic.Bool   // to end, by Stop or Kill
}

// Build puts one of the repository's programs into the room's folder, which goes when the room ends. It is go run that
// compiles and links, and cp that it runs: unlike those of go build, its executables are kept in the build cache, so
// only the first room has to link.
func Build(name, program string, flags ...string) (path string, err error) {
	path = filepath.Join(folder, name)
	args := append(append([]string{"run"}, flags...), "-exec", "cp", program, path)
	if out, err := exec.Command("go", args...).CombinedOutput(); err != nil {
		return "", fmt.Errorf("building %s: %w\n%s", program, err, out)
	}
	return path, nil
}

// NewProxy starts one more proxy, in front of the room's cluster unless flags say otherwise, and returns when a client
// can get in. It ends with the test at the latest, and must end well.
func NewProxy(t *testing.T, flags ...string) *Proxy {
	t.Helper()
	return NewProxyOf(t, proxyBinary, flags...)
}

// NewProxyOf is NewProxy for another binary, "" for the room's own.
func NewProxyOf(t *testing.T, binary string, flags ...string) *Proxy {
	t.Helper()
	p, err := startProxy(cmp.Or(binary, proxyBinary), flags...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { p.end(t) })
	return p
}

// BuildWith builds the program with other contents of some of its files, or with files more: by their paths from the root of
// the module.
func BuildWith(t *testing.T, files map[string]string) (binary string) {
	t.Helper()
	dir := t.TempDir()
	out, err := exec.CommandContext(t.Context(), "go", "list", "-m", "-f", "{{.Dir}}").Output()
	if err != nil {
		t.Fatalf("looking for the module: %v", err)
	}
	root := strings.TrimSpace(string(out))
	replace := map[string]string{}
	for path, content := range files {
		file := filepath.Join(dir, filepath.Base(path))
		if err := os.WriteFile(file, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		replace[filepath.Join(root, path)] = file
	}
	overlay, err := json.Marshal(map[string]any{"Replace": replace})
	if err != nil {
		t.Fatal(err)
	}
	list := filepath.Join(dir, "overlay.json")
	if err := os.WriteFile(list, overlay, 0o600); err != nil {
		t.Fatal(err)
	}
	binary = filepath.Join(dir, "mbusproxy-with")
	build := exec.CommandContext(t.Context(), "go", "build", "-overlay", list, "-o", binary, "./cmd/mbusproxy")
	build.Dir = root
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("building with other files: %v\n%s", err, out)
	}
	return binary
}

// end stops a proxy that the test has not told to end. One that ended untold is an error.
func (p *Proxy) end(t *testing.T) {
	t.Helper()
	if !p.told.Load() {
		if err := p.Stop(); err != nil {
			t.Error(err)
		}
	}
	if t.Failed() {
		t.Logf("the proxy's stderr:\n%s", p.LogTail())
	}
}

// startProxy runs the binary, with more flags if there are any.
func startProxy(binary string, flags ...string) (*Proxy, error) {
	port, err := pgcluster.FreePort("127.0.0.1")
	if err != nil {
		return nil, err
	}
	log, err := os.CreateTemp("", "mbusproxy-*.log")
	if err != nil {
		return nil, err
	}
	dsn := Direct().DSN("postgres")
	p := &Proxy{
		Endpoint: Endpoint{Name: "proxied", Host: "127.0.0.1", Port: port},
		binary:   binary, log: log,
	}
	// Addresses of flags come first: the port of the first one names unix sockets.
	p.flags = append([]string{"serve", "--upstream", dsn, "--admin", dsn}, flags...)
	p.flags = append(p.flags, "--listen", fmt.Sprintf("127.0.0.1:%d", port))
	if err := p.run(AskLimit); err != nil {
		_ = os.Remove(log.Name())
		return nil, err
	}
	return p, nil
}

// run starts the process and waits, no longer than limit, until a client can get in.
func (p *Proxy) run(limit time.Duration) error {
	p.exited, p.exitErr = make(chan struct{}), nil
	p.cmd = exec.Command(p.binary, p.flags...)
	p.cmd.Stdout, p.cmd.Stderr = p.log, p.log
	p.cmd.SysProcAttr = ChildAttributes()
	if err := p.cmd.Start(); err != nil {
		return fmt.Errorf("starting the proxy: %w", err)
	}
	go func() {
		p.exitErr = p.cmd.Wait()
		close(p.exited)
	}()
	if err := p.awaitReady(limit); err != nil {
		_ = p.Kill()
		return fmt.Errorf("%w\n%s", err, p.LogTail())
	}
	return nil
}

// Crash kills the proxy and starts it anew, at the same address. The one who calls it is the only
// one who calls methods meanwhile.
func (p *Proxy) Crash() error {
	if err := p.cmd.Process.Kill(); err != nil {
		return fmt.Errorf("killing the proxy: %w", err)
	}
	<-p.exited
	return p.run(AskLimit) // the machine may be at its limits, and the test is not about that
}

// PID is the number of the proxy's process.
func (p *Proxy) PID() int { return p.cmd.Process.Pid }

// Kill ends the proxy as a crash would, and returns when it is gone.
func (p *Proxy) Kill() error {
	defer func() { _ = os.Remove(p.log.Name()) }()
	p.told.Store(true)
	err := p.cmd.Process.Kill()
	<-p.exited
	return err
}

// awaitReady connects until a session works, the proxy ends or the limit has passed.
func (p *Proxy) awaitReady(limit time.Duration) error {
	deadline := time.After(limit)
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for {
		ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
		conn, err := pgconn.Connect(ctx, p.Endpoint.DSN("postgres"))
		if err == nil {
			err = conn.Close(ctx)
			cancel()
			return err
		}
		cancel()
		select {
		case <-p.exited:
			return fmt.Errorf("the proxy ended at its start: %s", p.cmd.ProcessState)
		case <-deadline:
			return fmt.Errorf("the proxy is not ready after %v: %w", limit, err)
		case <-tick.C:
		}
	}
}

// Stop sends SIGTERM and checks the manner of the end: status 0, nothing from the race detector,
// no panic on record.
func (p *Proxy) Stop() error {
	defer func() { _ = os.Remove(p.log.Name()) }()
	p.told.Store(true)
	select {
	case <-p.exited:
		return fmt.Errorf("the proxy ended before it was told to: %s", p.cmd.ProcessState)
	default:
	}
	if err := p.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		return fmt.Errorf("telling the proxy to stop: %w", err)
	}
	select {
	case <-p.exited:
	case <-time.After(AskLimit):
		_ = p.cmd.Process.Signal(syscall.SIGQUIT) // its goroutines go to the log
		<-p.exited
		return errors.New("the proxy did not end after SIGTERM")
	}
	log, err := os.ReadFile(p.log.Name())
	if err != nil {
		return fmt.Errorf("reading the proxy's log: %w", err)
	}
	var found []error
	for _, bad := range []string{"DATA RACE", "panic", "fatal error:"} {
		if bytes.Contains(log, []byte(bad)) {
			found = append(found, fmt.Errorf("the proxy's log has %q", bad))
		}
	}
	if p.exitErr != nil {
		found = append(found, fmt.Errorf("the proxy's end on SIGTERM: %w", p.exitErr))
	}
	return errors.Join(found...)
}

// AwaitEnd waits until the proxy, which was told so by other means, has ended, with status 0.
func (p *Proxy) AwaitEnd(limit time.Duration) error {
	p.told.Store(true)
	select {
	case <-p.exited:
		_ = os.Remove(p.log.Name())
		return p.exitErr
	case <-time.After(limit):
		return errors.Join(fmt.Errorf("the proxy did not end within %v", limit), p.Kill())
	}
}

// LogTail returns the last 4 KiB of what the proxy wrote.
func (p *Proxy) LogTail() []byte {
	log := make([]byte, 4<<10)
	info, err := p.log.Stat()
	if err != nil {
		return []byte(err.Error())
	}
	n, _ := p.log.ReadAt(log, max(0, info.Size()-int64(len(log)))) // io.EOF is expected
	return log[:n]
}

// Init runs mbusproxy init for a database of the room's cluster, and gives what it prints.
func Init(t *testing.T, database string) (string, error) {
	t.Helper()
	return InitOf(t, proxyBinary, database)
}

// InitOf is Init by another binary.
func InitOf(t *testing.T, binary, database string) (string, error) {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), binary, "init", "--admin", Direct().DSN(database)).CombinedOutput()
	return string(out), err
}
