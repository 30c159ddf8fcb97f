package listen

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
)

// defaultPort names the unix socket when no TCP address does.
const defaultPort = 5432

// listenAddress is one entry of Config.Listen: a TCP address, or the directory of a unix socket.
type listenAddress struct {
	tcp string
	dir string
}

func parseListen(a string) (listenAddress, error) {
	if strings.HasPrefix(a, "/") || strings.HasPrefix(a, ".") && strings.Contains(a, "/") {
		return listenAddress{dir: a}, nil
	}
	if _, _, err := net.SplitHostPort(a); err != nil {
		return listenAddress{}, fmt.Errorf("reading listen address %q: %w", a, err)
	}
	return listenAddress{tcp: a}, nil
}

// CheckAddress reports whether All could make sense of an address.
func CheckAddress(a string) error {
	_, err := parseListen(a)
	return err
}

// All binds every address, or none. TCP comes first: its port names the sockets.
func All(addresses []string, socket Options) (bound []net.Listener, err error) {
	bound = make([]net.Listener, len(addresses))
	defer func() {
		if err != nil {
			for _, l := range bound {
				if l != nil {
					_ = l.Close()
				}
			}
			bound = nil
		}
	}()
	port := 0
	lc := socket.listenConfig()
	for i, text := range addresses {
		a, err := parseListen(text)
		if err != nil {
			return bound, err
		}
		if a.tcp == "" {
			continue
		}
		if bound[i], err = lc.Listen(context.Background(), "tcp", a.tcp); err != nil {
			return bound, fmt.Errorf("listening: %w", err)
		}
		if socket.reusePort {
			if err = claimPort(bound[i]); err != nil {
				return bound, fmt.Errorf("sharing the port: %w", err)
			}
		}
		if port == 0 {
			port = bound[i].Addr().(*net.TCPAddr).Port
		}
	}
	if port == 0 {
		port = defaultPort
	}
	for i, text := range addresses {
		if bound[i] != nil {
			continue
		}
		a, err := parseListen(text)
		if err != nil {
			return bound, err
		}
		if bound[i], err = Unix(a.dir, port, socket.reusePort); err != nil {
			return bound, err
		}
	}
	return bound, nil
}

// unixListener is a unix socket with its lock file.
type unixListener struct {
	*net.UnixListener
	path string
	lock *os.File
}

// Addr has the path that clients use.
func (l *unixListener) Addr() net.Addr { return &net.UnixAddr{Name: l.path, Net: "unix"} }

// Close removes the socket file, unless a successor has the path, and then gives up the lock.
func (l *unixListener) Close() error {
	err := l.UnixListener.Close()
	if lockFile(l.lock, syscall.LOCK_EX) == nil {
		_ = os.Remove(l.path)
	}
	_ = l.lock.Close()
	return err
}

// socketFile is the name that libpq looks for.
func socketFile(dir string, port int) string {
	return filepath.Join(dir, ".s.PGSQL."+strconv.Itoa(port))
}

func lockFile(f *os.File, how int) error { return syscall.Flock(int(f.Fd()), how|syscall.LOCK_NB) }

// Unix binds .s.PGSQL.<port> in dir, the name libpq looks for. The lock file beside it is
// held with flock, so that a socket left by a proxy that was killed can be told from one in use.
// The lock file stays: removing it would let two proxies lock two different files of that name.
//
// Proxies that share their addresses hold the lock together; the path belongs to the one that
// came last.
func Unix(dir string, port int, share bool) (net.Listener, error) {
	path := socketFile(dir, port)
	lock, err := os.OpenFile(path+".proxylock", os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, fmt.Errorf("locking unix socket: %w", err)
	}
	bind := bindUnix
	if err = lockFile(lock, syscall.LOCK_EX); err != nil && share {
		bind = replaceUnix
	}
	if share {
		err = lockFile(lock, syscall.LOCK_SH)
	}
	if err != nil {
		_ = lock.Close()
		return nil, fmt.Errorf("locking unix socket %s: another proxy uses it: %w", path, err)
	}
	l, err := bind(path)
	if err != nil {
		_ = lock.Close()
		return nil, err
	}
	l.SetUnlinkOnClose(false)
	return &unixListener{l, path, lock}, nil
}

// replaceUnix puts a new socket in the place of the one that another proxy listens on.
func replaceUnix(path string) (*net.UnixListener, error) {
	if info, err := os.Lstat(path); err == nil && info.Mode().Type() != os.ModeSocket {
		return nil, fmt.Errorf("binding %s: the file exists and is no socket", path)
	}
	own := fmt.Sprintf("%s.%d", path, os.Getpid())
	_ = os.Remove(own)
	l, err := bindUnix(own)
	if err != nil {
		return nil, err
	}
	if err := os.Rename(own, path); err != nil {
		_ = l.Close()
		return nil, fmt.Errorf("replacing unix socket: %w", err)
	}
	return l, nil
}

// errSocketInUse is the refusal to remove somebody else's socket.
var errSocketInUse = errors.New("a server is listening on it")

func bindUnix(path string) (*net.UnixListener, error) {
	if info, err := os.Lstat(path); err == nil {
		if info.Mode().Type() != os.ModeSocket {
			return nil, fmt.Errorf("binding %s: the file exists and is no socket", path)
		}
		// Ours to remove only when nobody answers, Postgres say, which does not know our lock.
		if conn, err := net.Dial("unix", path); err == nil {
			_ = conn.Close()
			return nil, fmt.Errorf("binding %s: %w", path, errSocketInUse)
		}
		if err := os.Remove(path); err != nil {
			return nil, fmt.Errorf("removing stale socket: %w", err)
		}
	}
	l, err := net.ListenUnix("unix", &net.UnixAddr{Name: path, Net: "unix"})
	if err != nil {
		return nil, fmt.Errorf("listening: %w", err)
	}
	// As unix_socket_permissions of Postgres: who may connect is a matter of authentication.
	if err := os.Chmod(path, 0o777); err != nil {
		_ = l.Close()
		return nil, fmt.Errorf("setting permissions of unix socket: %w", err)
	}
	return l, nil
}

// Yield has new connections given to a successor that listens on the same port; see yieldPort.
func Yield(l net.Listener) error {
	tcp, ok := l.(*net.TCPListener)
	if !ok {
		return nil // the file of a unix socket is the successor's by now
	}
	raw, err := tcp.SyscallConn()
	if err != nil {
		return err
	}
	return yieldPort(raw)
}

// claimPort ends the steering that a former process may have left behind.
func claimPort(l net.Listener) error {
	tcp, ok := l.(*net.TCPListener)
	if !ok {
		return nil
	}
	raw, err := tcp.SyscallConn()
	if err != nil {
		return err
	}
	return sharePort(raw)
}

// Socket is where a client reaches a listener.
type Socket struct{ Network, Address string }

// Sockets returns where clients reach the addresses, in their order, without looking whether anybody listens there.
func Sockets(addresses []string) ([]Socket, error) {
	port := 0
	sockets := make([]Socket, len(addresses))
	for i, text := range addresses {
		a, err := parseListen(text)
		if err != nil {
			return nil, err
		}
		sockets[i] = Socket{"tcp", a.tcp}
		if a.tcp == "" {
			sockets[i] = Socket{"unix", a.dir}
			continue
		}
		if _, p, err := net.SplitHostPort(a.tcp); err == nil && port == 0 {
			if port, err = net.LookupPort("tcp", p); err != nil {
				return nil, fmt.Errorf("reading listen address %q: %w", text, err)
			}
		}
	}
	for i, s := range sockets {
		if s.Network == "unix" {
			sockets[i].Address = socketFile(s.Address, cmp.Or(port, defaultPort))
		}
	}
	return sockets, nil
}
