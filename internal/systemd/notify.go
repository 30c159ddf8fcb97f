package systemd

import (
	"fmt"
	"net"
	"os"
	"strings"
	"time"
)

// Manager is told what the service is doing. The zero value is no manager, which is told nothing.
type Manager struct {
	address string // of a unix datagram socket; "": there is no manager
}

// FromEnvironment returns the manager that $NOTIFY_SOCKET names, and takes the variable out of the environment.
func FromEnvironment() Manager {
	m := Manager{address: os.Getenv("NOTIFY_SOCKET")}
	_ = os.Unsetenv("NOTIFY_SOCKET")
	return m
}

// Ready says that clients can connect, at the start and after a reload.
func (m Manager) Ready(status string) error { return m.send("READY=1", "STATUS="+status) }

// Reloading says that the configuration is being read again; Ready follows.
func (m Manager) Reloading() error {
	now, err := monotonic()
	if err != nil {
		return err
	}
	return m.send("RELOADING=1", fmt.Sprintf("MONOTONIC_USEC=%d", now.Microseconds()))
}

// Stopping says that the service is ending and may take as long as limit, whatever the unit says.
func (m Manager) Stopping(limit time.Duration) error {
	return m.send("STOPPING=1", "STATUS=draining", fmt.Sprintf("EXTEND_TIMEOUT_USEC=%d", limit.Microseconds()))
}

// send sends assignments in one datagram. A status is one line.
func (m Manager) send(assignments ...string) error {
	if m.address == "" {
		return nil
	}
	for i, a := range assignments {
		assignments[i] = strings.ReplaceAll(a, "\n", " ")
	}
	// A leading @ stands for the abstract namespace here as it does for package net.
	conn, err := net.DialUnix("unixgram", nil, &net.UnixAddr{Name: m.address, Net: "unixgram"})
	if err != nil {
		return fmt.Errorf("telling the service manager: %w", err)
	}
	defer func() { _ = conn.Close() }()
	if _, err := conn.Write([]byte(strings.Join(assignments, "\n"))); err != nil {
		return fmt.Errorf("telling the service manager: %w", err)
	}
	return nil
}
