package proxy

import (
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"time"

	"go.uber.org/zap"

	"mbusproxy/proxy/auth"
	"mbusproxy/proxy/endpoint"
	"mbusproxy/proxy/listen"
	"mbusproxy/proxy/statements"
)

// Config says how a Server listens, where sessions go and what limits hold. It is not changed by
// the Server and must not be changed after New.
type Config struct {
	// Listen holds "host:port" or the directory of a unix socket (an absolute path), at least one,
	// unless there is Inherited.
	Listen []string
	// Inherited are sockets that a service manager listens on, which are served in place of Listen.
	// The Server owns its listeners and closes them; the manager keeps the sockets, with what is in
	// their queues, for a successor: see Shutdown.
	Inherited []net.Listener
	// Upstream is a DSN or URL as libpq reads it. Used are host, port, sslmode, sslrootcert,
	// sslcert, sslkey, sslnegotiation, connect_timeout and target_session_attrs; several hosts are
	// tried in order. User, password and database are the client's own.
	Upstream string
	// Admin is a DSN whose user, password and database serve to ask the hosts of Upstream for
	// target_session_attrs, and by Server.Ready.
	Admin string
	// TLS is the configuration towards clients; nil means that SSLRequest is answered with 'N'.
	TLS *tls.Config
	// TLSRequired refuses plaintext clients that come over TCP. Unix sockets are not affected.
	TLSRequired bool
	// MaxConnections limits the sessions, which count from AuthenticationOk on, or once the server lets them wait
	// for it; 0 means no limit. Beyond it clients get 53300. What comes before has limits of its own.
	MaxConnections int
	// StartupTimeout bounds the time from accept to the first ReadyForQuery: TLS, startup packet,
	// dial and authentication. 0 means 60 seconds (authentication_timeout of Postgres).
	StartupTimeout time.Duration
	// DrainTimeout is how long busy sessions get after Shutdown. 0 means: none.
	DrainTimeout time.Duration
	// KeepAlive is how long a TCP connection, on either side, is silent before the peer is probed;
	// it is given up after as long again. 0 means 60 seconds, less than 0: never.
	KeepAlive time.Duration
	// UserTimeout is how long bytes sent, on either side, may stay unacknowledged or untaken
	// (TCP_USER_TIMEOUT, Linux only). 0 means: as the system has it. A peer that lives and does
	// not read for that long loses its session.
	UserTimeout time.Duration
	// ReusePort shares the addresses with other processes that set it, for a handover: see
	// Shutdown. Linux only.
	ReusePort bool
	// Verifiers lets the proxy offer channel binding to clients with TLS; nil: it does not.
	Verifiers auth.Verifiers
	// Rewriter decides about statements; nil makes a plain relay.
	Rewriter statements.Rewriter
	// Console serves those who log in to a database of its name; nil: there is none.
	Console Console
	// Log gets the proxy's own events; nil discards them. Payloads are never logged.
	Log *zap.Logger
}

// defaultKeepAlive is how long a peer may be silent before it is probed.
const defaultKeepAlive = time.Minute

// defaultStartupTimeout is the default of authentication_timeout in Postgres.
const defaultStartupTimeout = 60 * time.Second

// complete checks cfg and fills in the defaults.
func (cfg Config) complete() (Config, error) {
	if len(cfg.Listen) == 0 && len(cfg.Inherited) == 0 {
		return cfg, errors.New("checking configuration: no address to listen on")
	}
	if cfg.TLSRequired && cfg.TLS == nil {
		return cfg, errors.New("checking configuration: TLS is required but there is no certificate")
	}
	if cfg.MaxConnections < 0 {
		return cfg, fmt.Errorf("checking configuration: maximum of connections is %d", cfg.MaxConnections)
	}
	if cfg.StartupTimeout < 0 || cfg.DrainTimeout < 0 {
		return cfg, errors.New("checking configuration: a timeout is negative")
	}
	if cfg.UserTimeout < 0 {
		return cfg, errors.New("checking configuration: a timeout is negative")
	}
	if cfg.ReusePort && !listen.CanReusePort {
		return cfg, errors.New("checking configuration: addresses can be shared on Linux only")
	}
	if cfg.KeepAlive == 0 {
		cfg.KeepAlive = defaultKeepAlive
	}
	if cfg.StartupTimeout == 0 {
		cfg.StartupTimeout = defaultStartupTimeout
	}
	if cfg.Log == nil {
		cfg.Log = zap.NewNop()
	}
	if cfg.TLS != nil {
		// Direct TLS (Postgres 17) demands ALPN; clients that send none after an SSLRequest are
		// served as well.
		cfg.TLS = cfg.TLS.Clone()
		cfg.TLS.NextProtos = []string{endpoint.ALPN}
	}
	return cfg, nil
}

// bind returns the listeners that are served.
func (cfg Config) bind() ([]net.Listener, error) {
	if len(cfg.Inherited) > 0 {
		return listen.Inherited(cfg.Inherited, cfg.socketOptions())
	}
	return listen.All(cfg.Listen, cfg.socketOptions())
}

// handsOver reports whether a successor may serve the same addresses.
func (cfg Config) handsOver() bool { return cfg.ReusePort || len(cfg.Inherited) > 0 }

func (cfg Config) socketOptions() listen.Options {
	return listen.NewOptions(cfg.KeepAlive, cfg.UserTimeout, cfg.ReusePort)
}
