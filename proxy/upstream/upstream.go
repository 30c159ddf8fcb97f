package upstream

import (
	"context"
	"crypto/tls"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"time"

	"github.com/jackc/pgx/v5/pgconn"

	"mbusproxy/proxy/endpoint"
	"mbusproxy/proxy/wire"
)

// Target is one way to reach a server: an address, with or without TLS.
type Target struct {
	network, address string
	tls              *tls.Config // nil: plaintext
	direct           bool        // TLS at once, without SSLRequest
	dialer           *net.Dialer
}

// Servers are the targets in the order in which they are tried. sslmode=prefer makes two of a
// host: with TLS, then without; sslmode=allow the other way round.
type Servers struct {
	targets []Target
	timeout time.Duration // of one dial; 0: none but the startup's
	prober  *prober       // nil: any server will do
	probing *probing      // what targets come from; nil: from the configuration
}

// Parse reads a DSN or URL; admin is Config.Admin. Servers are connected to with dialer. What serves more than
// one session, such as a look at all hosts, ends with the context that life returns.
func Parse(dsn, admin string, dialer *net.Dialer, life func() context.Context) (*Servers, error) {
	cfg, err := pgconn.ParseConfig(dsn)
	if err != nil {
		return nil, fmt.Errorf("parsing upstream: %w", err)
	}
	direct := cfg.SSLNegotiation == "direct"
	u := &Servers{timeout: cfg.ConnectTimeout}
	var hosts []host
	add := func(name string, port uint16, conf *tls.Config) {
		network, address := pgconn.NetworkAddress(name, port)
		way := Target{network, address, conf, direct && conf != nil, dialer}
		if n := len(u.targets); n == 0 || u.targets[n-1].address != address {
			hosts = append(hosts, host{name: name, port: port})
		}
		h := &hosts[len(hosts)-1]
		h.ways = append(h.ways, way)
		u.targets = append(u.targets, way)
	}
	add(cfg.Host, cfg.Port, cfg.TLSConfig)
	for _, f := range cfg.Fallbacks {
		add(f.Host, f.Port, f.TLSConfig)
	}
	if u.prober, err = newProber(hosts, cfg, admin, life); err != nil {
		return nil, err
	}
	return u, nil
}

// Connection is an open connection to a server, TLS done, nothing said yet.
type Connection struct {
	Endpoint *endpoint.Endpoint
	// At is how to reach this very server again, for cancel requests.
	At Target
	// Next is the index of the target to try if the server does not want this one.
	Next int
}

// errNoTLS is the refusal of an SSLRequest.
var errNoTLS = errors.New("server does not support TLS")

// Dial tries the targets from index first on and returns the first connection.
func (u *Servers) Dial(ctx context.Context, pool *wire.BufferPool, first int) (*Connection, error) {
	var failed []error
	for i := first; i < len(u.targets); i++ {
		t := u.targets[i]
		plaintextNext := i+1 < len(u.targets) && u.targets[i+1].tls == nil && u.targets[i+1].address == t.address
		c, err := t.Dial(ctx, u.timeout, pool, plaintextNext)
		if err == nil {
			c.Next = i + 1
			if t.tls != nil && c.Endpoint.TLS == nil {
				c.Next = i + 2 // went on without TLS on the same connection
			}
			return c, nil
		}
		failed = append(failed, err)
	}
	return nil, errors.Join(failed...)
}

// Dial connects. With plaintextToo a server without TLS is taken as it is.
func (t Target) Dial(ctx context.Context, timeout time.Duration, pool *wire.BufferPool, plaintextToo bool) (*Connection, error) {
	if timeout > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, timeout)
		defer cancel()
	}
	conn, err := t.dialer.DialContext(ctx, t.network, t.address)
	if err != nil {
		return nil, fmt.Errorf("connecting to server: %w", err)
	}
	l, err := endpoint.New(conn, pool)
	if err != nil {
		_ = conn.Close()
		return nil, err
	}
	stop := context.AfterFunc(ctx, l.Interrupt)
	defer stop()
	c := &Connection{Endpoint: l, At: Target{network: t.network, address: t.address, dialer: t.dialer}}
	if t.network != "unix" {
		c.At.address = conn.RemoteAddr().String() // of several addresses of a name, this one
	}
	if t.tls != nil {
		err = t.startTLS(ctx, l)
		if errors.Is(err, errNoTLS) && plaintextToo {
			return c, nil
		}
		if err != nil {
			l.Close()
			return nil, fmt.Errorf("starting TLS with server: %w", err)
		}
		c.At.tls, c.At.direct = t.tls, t.direct
	}
	return c, nil
}

// startTLS asks for TLS and does the client's side of the handshake.
func (t Target) startTLS(ctx context.Context, l *endpoint.Endpoint) error {
	if !t.direct {
		request := binary.BigEndian.AppendUint32([]byte{0, 0, 0, 8}, wire.CodeSSL)
		if err := l.Write(request); err != nil {
			return err
		}
		var answer [1]byte
		if _, err := io.ReadFull(l.Conn, answer[:]); err != nil {
			return err
		}
		switch answer[0] {
		case 'S':
		case 'N':
			return errNoTLS
		default:
			return fmt.Errorf("unexpected answer %q to SSLRequest", answer[0])
		}
	}
	conn := l.StartTLS(t.tls)
	return conn.HandshakeContext(ctx)
}

// Another reports whether the target with index i is a second way to reach the server behind the
// one before it.
func (u *Servers) Another(i int) bool {
	return i > 0 && i < len(u.targets) && u.targets[i].address == u.targets[i-1].address
}
