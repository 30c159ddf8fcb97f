package systemd

import (
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"
)

// asChild makes the test binary, run again with this variable set, a service that takes its sockets.
const asChild = "RUN_AS_SERVICE"

func TestMain(m *testing.M) {
	if os.Getenv(asChild) != "" {
		serveOnce()
		return
	}
	os.Exit(m.Run())
}

// serveOnce takes the sockets, says which they are, and answers one connection on each with the
// environment that is left.
func serveOnce() {
	listeners, err := Listeners()
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, l := range listeners {
		conn, err := l.Accept()
		if err != nil {
			fmt.Println(err)
			return
		}
		fmt.Fprintf(conn, "%s %q", l.Addr().Network(), os.Getenv("LISTEN_PID")+os.Getenv("LISTEN_FDS")+os.Getenv("LISTEN_FDNAMES"))
		_ = conn.Close()
		_ = l.Close()
	}
	fmt.Print(len(listeners))
}

// service runs the child as a manager does: with sockets from descriptor 3 on, and the process's
// own number in the environment.
func service(t *testing.T, pid, count string, files ...*os.File) (wait func() string) {
	t.Helper()
	cmd := exec.Command("/bin/sh", "-c", "LISTEN_PID="+pid+" exec \"$0\"", os.Args[0])
	cmd.Env = append(os.Environ(), asChild+"=1", "LISTEN_FDS="+count, "LISTEN_FDNAMES=main")
	cmd.ExtraFiles = files
	var out strings.Builder
	cmd.Stdout, cmd.Stderr = &out, &out
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	return func() string {
		t.Helper()
		if err := cmd.Wait(); err != nil {
			t.Errorf("%v: %s", err, &out)
		}
		return out.String()
	}
}

func fileOf(t *testing.T, of any) *os.File {
	t.Helper()
	f, err := of.(interface{ File() (*os.File, error) }).File()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = f.Close() })
	return f
}

func TestListeners(t *testing.T) {
	t.Parallel()
	tcp, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "s")
	unix, err := net.Listen("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _, _ = tcp.Close(), unix.Close() })
	wait := service(t, "$$", "2", fileOf(t, tcp), fileOf(t, unix))
	for _, l := range []net.Listener{tcp, unix} {
		conn, err := net.Dial(l.Addr().Network(), l.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		_ = conn.SetDeadline(time.Now().Add(time.Minute))
		got, err := io.ReadAll(conn)
		if want := l.Addr().Network() + ` ""`; err != nil || string(got) != want {
			t.Errorf("got %q and %v, want %q", got, err, want)
		}
		_ = conn.Close()
	}
	if got := wait(); got != "2" {
		t.Error(got)
	}
	if _, err := os.Stat(path); err != nil {
		t.Errorf("the manager's socket is gone: %v", err)
	}
}

func TestListenersRefused(t *testing.T) {
	t.Parallel()
	udp, err := net.ListenUDP("udp", &net.UDPAddr{IP: net.IPv4(127, 0, 0, 1)})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = udp.Close() })
	null, err := os.Open(os.DevNull)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = null.Close() })
	for _, c := range []struct {
		pid, count, want string
		file             *os.File
	}{
		{"1", "1", "0", null}, // another process's
		{"$$", "0", "0", null},
		{"$$", "-1", "no number of sockets", null},
		{"$$", "many", "no number of sockets", null},
		{"$$", "1", "taking descriptor 3 (main): getsockopt: ", null},
		{"$$", "1", "no stream socket that listens", fileOf(t, udp)},
		{"$$", "3", "descriptor 3 (main)", null},
	} {
		if got := service(t, c.pid, c.count, c.file)(); !strings.Contains(got, c.want) {
			t.Errorf("LISTEN_PID=%s LISTEN_FDS=%s: got %q, want %q", c.pid, c.count, got, c.want)
		}
	}
}

func TestNotify(t *testing.T) {
	addresses := []string{filepath.Join(t.TempDir(), "notify")}
	if runtime.GOOS == "linux" {
		addresses = append(addresses, "@mbusproxy-"+strconv.Itoa(os.Getpid())) // the abstract namespace
	}
	for _, address := range addresses {
		manager, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: address, Net: "unixgram"})
		if err != nil {
			t.Fatal(err)
		}
		t.Setenv("NOTIFY_SOCKET", address)
		m := FromEnvironment()
		if os.Getenv("NOTIFY_SOCKET") != "" {
			t.Error("children would find the manager, too")
		}
		for _, c := range []struct {
			say  func() error
			want string
		}{
			{func() error { return m.Ready("serving\nREADY=0") }, "READY=1\nSTATUS=serving READY=0"},
			{m.Reloading, "RELOADING=1\nMONOTONIC_USEC="},
			{func() error { return m.Stopping(90 * time.Second) }, "STOPPING=1\nSTATUS=draining\nEXTEND_TIMEOUT_USEC=90000000"},
		} {
			if err := c.say(); err != nil {
				t.Fatal(err)
			}
			buffer := make([]byte, 1000)
			_ = manager.SetReadDeadline(time.Now().Add(time.Minute))
			n, err := manager.Read(buffer)
			got := string(buffer[:n])
			if now, ok := strings.CutPrefix(got, c.want); err != nil || !ok || strings.Trim(now, "0123456789") != "" {
				t.Errorf("got %q and %v, want %q", got, err, c.want)
			}
		}
		_ = manager.Close()
		if err := m.Ready(""); err == nil {
			t.Error("a manager that is gone was told")
		}
	}
	if err := FromEnvironment().Ready(""); err != nil {
		t.Errorf("without a manager: %v", err)
	}
}
