package main

import (
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
)

// manager is a service manager: a socket that it listens on, and one on which services tell it what they are doing.
type manager struct {
	t       *testing.T
	sockets []*os.File
	notify  *net.UnixConn
	dsn     string
}

func newManager(t *testing.T) *manager {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	socket, err := l.(*net.TCPListener).File()
	if err != nil {
		t.Fatal(err)
	}
	_ = l.Close() // the file goes on listening
	notify, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: filepath.Join(t.TempDir(), "notify"), Net: "unixgram"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _, _ = socket.Close(), notify.Close() })
	dsn := fmt.Sprintf("host=127.0.0.1 port=%d user=postgres dbname=postgres sslmode=disable", l.Addr().(*net.TCPAddr).Port)
	return &manager{t, []*os.File{socket}, notify, dsn}
}

// start runs mbusproxy serve with the manager's sockets.
func (m *manager) start(args ...string) *program {
	m.t.Helper()
	dsn := server.DSN("postgres")
	args = append([]string{"-c", `export LISTEN_PID=$$; exec "$0" "$@"`, os.Args[0], "serve", "--upstream", dsn, "--admin", dsn}, args...)
	cmd := exec.Command("/bin/sh", args...)
	cmd.ExtraFiles = m.sockets
	return startCommand(m.t, []string{fmt.Sprint("LISTEN_FDS=", len(m.sockets)), "NOTIFY_SOCKET=" + m.notify.LocalAddr().String()}, cmd)
}

// await waits for the next message of a service, which begins with a text.
func (m *manager) await(want string) string {
	m.t.Helper()
	buffer := make([]byte, 4096)
	_ = m.notify.SetReadDeadline(time.Now().Add(patience))
	n, err := m.notify.Read(buffer)
	if err != nil || !strings.HasPrefix(string(buffer[:n]), want) {
		m.t.Fatalf("got %q and %v, want %q", buffer[:n], err, want)
	}
	return string(buffer[:n])
}

// TestServeTellsTheManager: ready when clients can connect and not before, reloading and ready
// again, stopping with the time that draining may take; the manager's socket is served, --listen is
// not, and stays the manager's.
func TestServeTellsTheManager(t *testing.T) {
	t.Parallel()
	m := newManager(t)
	unused := freePort(t)
	p := m.start("--listen", fmt.Sprintf("127.0.0.1:%d", unused), "--drain-timeout", "7s")
	m.await("READY=1\nSTATUS=")
	if got := ask(t, m.dsn, "select 'here'"); got != "here" {
		t.Error(got)
	}
	p.awaitText(p.log, "in place of --listen")
	if conn, err := net.Dial("tcp", fmt.Sprintf("127.0.0.1:%d", unused)); err == nil {
		_ = conn.Close()
		t.Error("--listen is served besides the manager's socket")
	}
	p.signal(syscall.SIGHUP)
	m.await("RELOADING=1\nMONOTONIC_USEC=")
	m.await("READY=1\n")
	p.signal(syscall.SIGTERM)
	if got := m.await("STOPPING=1\n"); !strings.HasSuffix(got, "EXTEND_TIMEOUT_USEC=22000000") {
		t.Errorf("7 s to drain, 5 s for clients to come in, 5 s to close and as many to spare: %q", got)
	}
	p.wantStatus(0)
	conn, err := net.Dial("tcp", strings.Fields(m.dsn)[0][len("host="):]+":"+strings.Fields(m.dsn)[1][len("port="):])
	if err != nil {
		t.Fatalf("the manager's socket was closed: %v", err)
	}
	_ = conn.Close()
}

// TestServeWithoutUsableSockets: what the manager passes is not served, and serve says so.
func TestServeWithoutUsableSockets(t *testing.T) {
	t.Parallel()
	m := newManager(t)
	null, err := os.Open(os.DevNull)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = null.Close() })
	m.sockets = append(m.sockets, null)
	m.start().wantFailure(1, "the sockets passed by systemd cannot be used: taking descriptor 4", "docs/install.md")
}

// TestSocketHandover: a manager ends the proxy and starts it again, twice, while clients come and
// go all the time. None gets an error: those who come in between wait in the queue of the manager's
// socket. A transaction that is open goes on.
func TestSocketHandover(t *testing.T) {
	t.Parallel()
	m := newManager(t)
	p := m.start()
	m.await("READY=1")
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var clients sync.WaitGroup
	var sessions atomic.Int64
	came := make(chan struct{}, 1)
	for range 6 {
		clients.Go(func() {
			for ctx.Err() == nil {
				if err := comeAndGo(t, m.dsn); err != nil {
					t.Errorf("session %d: %v", sessions.Load(), err)
					cancel()
					return
				}
				sessions.Add(1)
				select {
				case came <- struct{}{}:
				default:
				}
			}
		})
	}
	enough := func() {
		t.Helper()
		limit := time.After(patience)
		for from := sessions.Load(); sessions.Load() < from+50; {
			select {
			case <-came:
			case <-ctx.Done():
				t.FailNow()
			case <-limit:
				t.Fatal("clients make no progress")
			}
		}
	}
	for range 2 {
		enough()
		busy, err := pgx.Connect(t.Context(), m.dsn)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := busy.Exec(t.Context(), "begin"); err != nil {
			t.Fatal(err)
		}
		p.signal(syscall.SIGTERM)
		m.await("STOPPING=1")
		p.awaitText(p.log, "draining")
		if _, err := busy.Exec(t.Context(), "commit"); err != nil {
			t.Errorf("the open transaction: %v", err)
		}
		_ = busy.Close(t.Context())
		p.wantStatus(0)
		p = m.start()
		m.await("READY=1")
		enough()
	}
	cancel()
	clients.Wait()
	t.Logf("%d sessions", sessions.Load())
	p.signal(syscall.SIGTERM)
	p.wantStatus(0)
}

// comeAndGo connects, works in one transaction, and leaves.
func comeAndGo(t *testing.T, dsn string) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(t.Context()), patience)
	defer cancel()
	conn, err := pgx.Connect(ctx, dsn)
	if err != nil {
		return err
	}
	for _, sql := range []string{"begin", "select pg_sleep(0.005)", "commit"} {
		if _, err := conn.Exec(ctx, sql); err != nil {
			return fmt.Errorf("%s: %w", sql, err)
		}
	}
	return conn.Close(ctx)
}
