package systemd

import (
	"fmt"
	"net"
	"os"
	"strconv"
	"strings"
	"syscall"
)

// firstSocket is the descriptor of the first socket that a manager passes (SD_LISTEN_FDS_START).
const firstSocket = 3

// maxSockets bounds what is believed of $LISTEN_FDS.
const maxSockets = 1024

// Listeners takes the sockets that the manager listens on for this process, in the order of its
// unit file; none if there is no manager or it has none. The sockets stay the manager's: closing a
// listener neither resets the connections in its queue nor removes the file of a unix socket.
func Listeners() ([]net.Listener, error) {
	defer func() {
		for _, name := range []string{"LISTEN_PID", "LISTEN_FDS", "LISTEN_FDNAMES"} {
			_ = os.Unsetenv(name)
		}
	}()
	pid, count := os.Getenv("LISTEN_PID"), os.Getenv("LISTEN_FDS")
	if count == "" || pid != strconv.Itoa(os.Getpid()) {
		return nil, nil // they are another process's
	}
	n, err := strconv.Atoi(count)
	if err != nil || n < 0 || n > maxSockets {
		return nil, fmt.Errorf("reading LISTEN_FDS: %q is no number of sockets", count)
	}
	names := strings.Split(os.Getenv("LISTEN_FDNAMES"), ":")
	var listeners []net.Listener
	for i := range n {
		name := fmt.Sprintf("descriptor %d", firstSocket+i)
		if i < len(names) && names[i] != "" {
			name += " (" + names[i] + ")"
		}
		l, err := listener(firstSocket+i, name)
		if err != nil {
			for _, l := range listeners {
				_ = l.Close()
			}
			return nil, err
		}
		listeners = append(listeners, l)
	}
	return listeners, nil
}

// listener makes a listener of a descriptor, which it closes: the listener has a duplicate that no child inherits.
func listener(fd int, name string) (net.Listener, error) {
	syscall.CloseOnExec(fd)
	f := os.NewFile(uintptr(fd), name)
	if f == nil {
		return nil, fmt.Errorf("taking %s: there is no such descriptor", name)
	}
	defer func() { _ = f.Close() }()
	for _, wanted := range []struct{ option, value int }{{syscall.SO_TYPE, syscall.SOCK_STREAM}, {syscall.SO_ACCEPTCONN, 1}} {
		value, err := syscall.GetsockoptInt(fd, syscall.SOL_SOCKET, wanted.option)
		if err != nil {
			return nil, fmt.Errorf("taking %s: %w", name, os.NewSyscallError("getsockopt", err))
		}
		if value != wanted.value {
			return nil, fmt.Errorf("taking %s: no stream socket that listens: the unit needs ListenStream= and Accept=no", name)
		}
	}
	l, err := net.FileListener(f)
	if err != nil {
		return nil, fmt.Errorf("taking %s: %w", name, err)
	}
	return l, nil
}
