package proxy

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
)

// target is one way to reach a server: an address, with or without TLS.
type target struct {
	network, address string
	tls              *tls.Config // nil: plaintext
	direct           bool        // TLS at once, without SSLRequest
	dialer           *net.Dialer
}

// upstreams are the targets in the order in which they are tried. sslmode=prefer makes two of a
// host: with TLS, then without; sslmode=allow the other way round.
type upstreams struct {
	targets []target
	timeout time.Duration // of one dial; 0: none but the startup's
	prober  *prober       // nil: any server will do
	probing *probing      // what targets come from; nil: from the configuration
}

// parseUpstream reads a DSN or URL; admin is Config.Admin. Servers are connected to with dialer. What serves more than
// one session, such as a look at all hosts, ends with the context that life returns.
func parseUpstream(dsn, admin string, dialer *net.Dialer, life func() context.Context) (*upstreams, error) {
	cfg, err := pgconn.ParseConfig(dsn)
	if err != nil {
		return nil, fmt.Errorf("parsing upstream: %w", err)
	}
	direct := cfg.SSLNegotiation == "direct"
	u := &upstreams{timeout: cfg.ConnectTimeout}
	var hosts []host
	add := func(name string, port uint16, conf *tls.Config) {
		network, address := pgconn.NetworkAddress(name, port)
		way := target{network, address, conf, direct && conf != nil, dialer}
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

// connected is an open connection to a server, TLS done, nothing said yet.
type connected struct {
	link *link
	// at is how to reach this very server again, for cancel requests.
	at target
	// next is the index of the target to try if the server does not want this one.
	next int
}

// errNoTLS is the refusal of an SSLRequest.
var errNoTLS = errors.New("server does not support TLS")

// dial tries the targets from index first on and returns the first connection.
func (u *upstreams) dial(ctx context.Context, pool *bufferPool, first int) (*connected, error) {
	var failed []error
	for i := first; i < len(u.targets); i++ {
		t := u.targets[i]
		plaintextNext := i+1 < len(u.targets) && u.targets[i+1].tls == nil && u.targets[i+1].address == t.address
		c, err := t.dial(ctx, u.timeout, pool, plaintextNext)
		if err == nil {
			c.next = i + 1
			if t.tls != nil && c.link.tls == nil {
				c.next = i + 2 // went on without TLS on the same connection
			}
			return c, nil
		}
		failed = append(failed, err)
	}
	return nil, errors.Join(failed...)
}

// dial connects. With plaintextToo a server without TLS is taken as it is.
func (t target) dial(ctx context.Context, timeout time.Duration, pool *bufferPool, plaintextToo bool) (*connected, error) {
	if timeout > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, timeout)
		defer cancel()
	}
	conn, err := t.dialer.DialContext(ctx, t.network, t.address)
	if err != nil {
		return nil, fmt.Errorf("connecting to server: %w", err)
	}
	l, err := newLink(conn, pool)
	if err != nil {
		_ = conn.Close()
		return nil, err
	}
	stop := context.AfterFunc(ctx, l.interrupt)
	defer stop()
	c := &connected{link: l, at: target{network: t.network, address: t.address, dialer: t.dialer}}
	if t.network != "unix" {
		c.at.address = conn.RemoteAddr().String() // of several addresses of a name, this one
	}
	if t.tls != nil {
		err = t.startTLS(ctx, l)
		if errors.Is(err, errNoTLS) && plaintextToo {
			return c, nil
		}
		if err != nil {
			l.close()
			return nil, fmt.Errorf("starting TLS with server: %w", err)
		}
		c.at.tls, c.at.direct = t.tls, t.direct
	}
	return c, nil
}

// startTLS asks for TLS and does the client's side of the handshake.
func (t target) startTLS(ctx context.Context, l *link) error {
	if !t.direct {
		request := binary.BigEndian.AppendUint32([]byte{0, 0, 0, 8}, codeSSL)
		if err := l.write(request); err != nil {
			return err
		}
		var answer [1]byte
		if _, err := io.ReadFull(l.conn, answer[:]); err != nil {
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
	conn := l.clientTLS(t.tls)
	return conn.HandshakeContext(ctx)
}

// another reports whether the target with index i is a second way to reach the server behind the
// one before it.
func (u *upstreams) another(i int) bool {
	return i > 0 && i < len(u.targets) && u.targets[i].address == u.targets[i-1].address
}
