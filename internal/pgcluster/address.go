package pgcluster

import (
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"syscall"
)

const (
	socketPrefix = "mbus-"
	maxSocketDir = 80 // bytes; with /.s.PGSQL.65535 the path stays below 100
)

// makeSocketDir makes a folder for the unix socket, short enough for the 107 bytes of sun_path.
func makeSocketDir(who account) (string, error) {
	parent := os.TempDir()
	if len(parent)+len("/"+socketPrefix+"0123456789") > maxSocketDir || who.stepDown && who.unreachable(filepath.Join(parent, "x")) != "" {
		parent = "/tmp"
	}
	dir, err := os.MkdirTemp(parent, socketPrefix)
	if err != nil {
		return "", fmt.Errorf("making a folder for the server's socket: %w", err)
	}
	err = os.Chmod(dir, 0o755) // clients of other users may connect, as on TCP
	if err == nil && who.stepDown {
		err = os.Chown(dir, who.uid, who.gid)
	}
	if err != nil {
		_ = os.RemoveAll(dir)
		return "", fmt.Errorf("making a folder for the server's socket: %w", err)
	}
	return dir, nil
}

func checkPort(host string, port int) error {
	l, err := net.Listen("tcp", net.JoinHostPort(host, strconv.Itoa(port)))
	if err != nil {
		if errors.Is(err, syscall.EADDRINUSE) {
			return portTaken(host, port, err)
		}
		return &Error{
			Kind:    StartFailed,
			Message: fmt.Sprintf("cannot listen on %s: %v", net.JoinHostPort(host, strconv.Itoa(port)), err),
			Err:     err,
		}
	}
	return l.Close()
}

func portTaken(host string, port int, err error) *Error {
	return &Error{
		Kind:    PortTaken,
		Message: fmt.Sprintf("port %d on %s is taken by another program", port, host),
		Hint:    "choose another port, or stop the program that has it (`ss -ltnp` shows which)",
		Err:     err,
	}
}
