package pgcluster

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"strconv"
	"syscall"
)

// The ports to choose from lie below those that Linux gives to outgoing connections (net.ipv4.ip_local_port_range
// begins at 32,768 unless somebody has set it): of these there may be thousands, one of which may take the port
// before the server listens on it.
const firstPort, endPort = 10_000, 32_768

// portTries bounds how many ports are tried.
const portTries = 1000

// FreePort returns a TCP port of an address of this machine that nobody listens on. Two callers at once may get the
// same, one time in 20,000. That one cannot listen at the address is an *Error.
func FreePort(host string) (int, error) {
	for range portTries {
		port := firstPort + rand.IntN(endPort-firstPort) //nolint:gosec // it need not be a secret
		l, err := net.Listen("tcp", net.JoinHostPort(host, strconv.Itoa(port)))
		if errors.Is(err, syscall.EADDRINUSE) {
			continue
		}
		if err != nil {
			return 0, &Error{
				Kind:    StartFailed,
				Message: fmt.Sprintf("cannot listen on %s: %v", host, err),
				Hint:    "choose an address of this machine",
				Err:     err,
			}
		}
		return port, l.Close()
	}
	return 0, fmt.Errorf("choosing a port: %d were taken", portTries)
}
