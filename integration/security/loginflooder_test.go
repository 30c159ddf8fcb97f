package security

import (
	"encoding/binary"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"sync"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgproto3"

	"mbusproxy/integration/internal/harness"
)

// What an attacker does who does not log in.

// dial opens a connection to an address.
func dial(address string) (net.Conn, error) { return net.DialTimeout("tcp", address, 10*time.Second) }

// address is the proxy's.
func (a *flooder) address() string {
	return fmt.Sprintf("%s:%d", a.proxy.Endpoint.Host, a.proxy.Endpoint.Port)
}

// cancels sends n CancelRequests for nobody, from 50 connections at a time.
func (a *flooder) cancels(n int) {
	var all sync.WaitGroup
	for range 50 {
		all.Go(func() {
			for range n / 50 {
				conn, err := dial(a.address())
				if err != nil {
					return
				}
				_, _ = conn.Write(cancelOfNobody())
				_, _ = io.Copy(io.Discard, conn)
				_ = conn.Close()
			}
		})
	}
	all.Wait()
}

// cancelOfNobody is a CancelRequest whose key no session has.
func cancelOfNobody() []byte {
	request := binary.BigEndian.AppendUint32(nil, 16)
	request = binary.BigEndian.AppendUint32(request, 80877102)
	return binary.BigEndian.AppendUint64(request, 1)
}

// silent opens n connections that say nothing, and as many that begin to.
func (a *flooder) silent(n int) {
	var conns []net.Conn
	for i := range n {
		conn, err := dial(a.address())
		if err != nil {
			break // the system's own limit
		}
		conns = append(conns, conn)
		if i%2 == 1 {
			_, _ = conn.Write([]byte{0, 0, 39, 16, 0, 3})
		}
	}
	conn, err := pgconn.Connect(harness.Context(a.T), a.proxy.Endpoint.DSN(a.database))
	if err != nil {
		a.Errorf("beside %d silent connections nobody else gets in: %v", len(conns), err)
	} else {
		harness.Close(conn)
	}
	for _, c := range conns {
		_ = c.Close()
	}
}

// startup is the startup packet of a role.
func (a *flooder) startup(user string) []byte {
	a.Helper()
	packet, err := (&pgproto3.StartupMessage{
		ProtocolVersion: pgproto3.ProtocolVersionNumber, Parameters: map[string]string{"user": user, "database": a.database},
	}).Encode(nil)
	if err != nil {
		a.Fatal(err)
	}
	return packet
}

// halfLogins begins n log-ins that say no more once the server asks for a password, and keeps the last held of them open.
// It does so in a process of its own that gives way to the others, since attackers do not use the proxy's processors: what
// bystanders wait for is then what the proxy and the server do.
func (a *flooder) halfLogins(n, held int) {
	flood := exec.CommandContext(a.Context(), "nice", "-n", "19", os.Args[0])
	flood.Env = append(os.Environ(), fmt.Sprintf("%s=%s %x %d %d", halfLoginsVar, a.address(), a.startup(asked), n, held))
	flood.Stderr = os.Stderr
	if err := flood.Start(); err != nil {
		a.Fatal(err)
	}
	defer func() {
		if err := flood.Wait(); err != nil {
			a.Errorf("the half log-ins: %v", err)
		}
	}()
	for range 10 {
		conn, err := pgconn.Connect(harness.Context(a.T), a.proxy.Endpoint.DSN(a.database))
		if err != nil {
			a.Errorf("beside the half log-ins one who has logged in before does not get in: %v", err)
			break
		}
		harness.Close(conn)
	}
}

// halfLoginsVar tells the process of halfLogins what to do: the address, the startup packet in hexadecimal digits, n and held.
const halfLoginsVar = "MBUS_TEST_HALF_LOGINS"

// runHalfLogins is that process, of eight clients.
func runHalfLogins(order string) error {
	const clients = 8
	var address string
	var startup []byte
	var n, held int
	if _, err := fmt.Sscanf(order, "%s %x %d %d", &address, &startup, &n, &held); err != nil {
		return err
	}
	var all sync.WaitGroup
	for range clients {
		all.Go(func() {
			var open []net.Conn
			defer func() {
				for _, c := range open {
					_ = c.Close()
				}
			}()
			for range n / clients {
				conn, err := dial(address)
				if err != nil {
					return // the system's own limit
				}
				_, _ = conn.Write(startup)
				if open = append(open, conn); len(open) > held/clients {
					_ = open[0].Close()
					open = open[1:]
				}
			}
		})
	}
	all.Wait()
	return nil
}
