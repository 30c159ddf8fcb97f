package app

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"syscall"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"go.uber.org/zap"

	"mbusproxy/engine"
	"mbusproxy/internal/rewriter"
	"mbusproxy/internal/told"
	"mbusproxy/internal/tracing"
	"mbusproxy/proxy"
	"mbusproxy/rewrite/detect"
	"mbusproxy/rewrite/parse"
)

const (
	dialTimeout = 5 * time.Second
	// closeGrace is the time after the drain timeout in which the proxy tells clients and closes their connections.
	closeGrace = 5 * time.Second
)

// Run serves until ctx ends, then drains and returns nil. ready is called once, when clients can
// connect, with the addresses bound. Failures that a person can mend are of type *told.Error.
func Run(ctx context.Context, cfg Config, ready func(addrs []net.Addr)) error {
	log, level, err := newLog(cfg.LogLevel, cfg.LogTo)
	if err != nil {
		return err
	}
	defer func() { _ = log.Sync() }()
	clientTLS, err := loadTLS(cfg)
	if err != nil {
		return err
	}
	unqualified, err := detect.NewUnqualified(cfg.Unqualified)
	if err != nil {
		return &told.Error{Message: "--unqualified: " + err.Error(), Hint: "`mbusproxy serve -h` explains the flags", Err: err}
	}
	if err := checkUpstream(ctx, cfg.Upstream); err != nil {
		return err
	}
	parser := parse.New()
	eng, err := openEngine(ctx, cfg, parser, log)
	if err != nil {
		return err
	}
	defer eng.Close()

	if clientTLS != nil && !eng.Verifiers().Readable(ctx) {
		log.Warn("the admin role may not read pg_authid: channel binding is not offered to clients")
	}
	rewriter := rewriter.New(eng, unqualified, parser, cfg.NoPrepare)
	if cfg.Trace != "" {
		tracer, err := tracing.Open(ctx, cfg.Trace, cfg.Version, log)
		if err != nil {
			return &told.Error{Message: "--trace: " + err.Error(), Hint: "docs/tracing.md says how spans are exported", Err: err}
		}
		defer tracer.Close()
		rewriter.Tracer = tracer
	}
	desk := &desk{cfg: cfg, engine: eng, rewriter: rewriter, log: log}
	server, err := proxy.New(proxy.Config{
		Listen:         cfg.Listen,
		Inherited:      cfg.Sockets,
		Upstream:       cfg.Upstream,
		Admin:          cfg.Admin,
		TLS:            clientTLS,
		TLSRequired:    cfg.TLSRequired,
		MaxConnections: cfg.MaxConnections,
		StartupTimeout: cfg.StartupTimeout,
		DrainTimeout:   cfg.DrainTimeout,
		KeepAlive:      cfg.KeepAlive,
		UserTimeout:    cfg.UserTimeout,
		ReusePort:      cfg.ReusePort,
		Verifiers:      eng.Verifiers(),
		Rewriter:       rewriter.InProxy(),
		Console:        desk.console(),
		Log:            log,
	})
	if err != nil {
		return &told.Error{Message: err.Error(), Hint: "`mbusproxy serve -h` explains the flags", Err: err}
	}
	desk.server = server
	if err := server.Listen(); err != nil {
		return listenError(err)
	}
	stopHTTP, err := startHTTP(ctx, &monitor{cfg: cfg, server: server, engine: eng, log: log}, rewriter)
	if err != nil {
		_ = server.Close()
		return err
	}
	defer stopHTTP()
	if len(cfg.Sockets) > 0 && len(cfg.Listen) > 0 {
		log.Info("the sockets passed by systemd are served in place of --listen", zap.Strings("listen", cfg.Listen))
	}
	for _, addr := range server.Addrs() {
		log.Info("listening", zap.Stringer("address", addr))
	}
	ready(server.Addrs())
	r := &reloader{server: server, running: cfg, log: log, level: level}
	return serve(ctx, server, r, log)
}

// serve runs a bound server until ctx ends and its sessions have.
func serve(ctx context.Context, server *proxy.Server, r *reloader, log *zap.Logger) error {
	ended := make(chan error, 1)
	go func() { ended <- server.Serve() }()
	for going := true; going; {
		select {
		case err := <-ended:
			if err != nil {
				return fmt.Errorf("serving: %w", err)
			}
			return nil
		case again := <-r.running.Reloads:
			r.reload(again)
		case <-ctx.Done():
			going = false
		}
	}
	drain := r.running.DrainTimeout
	log.Info("draining", zap.Duration("timeout", drain))
	bound := drain + closeGrace
	if r.running.ReusePort || len(r.running.Sockets) > 0 {
		bound += proxy.HandoverLimit
	}
	if r.running.Stopping != nil {
		r.running.Stopping(bound + closeGrace)
	}
	limit, cancel := context.WithTimeout(context.WithoutCancel(ctx), bound)
	defer cancel()
	if err := server.Shutdown(limit); err != nil {
		log.Warn("sessions were cut off", zap.Error(err))
		if err := server.Close(); err != nil {
			log.Warn("closing", zap.Error(err))
		}
	}
	if err := <-ended; err != nil {
		return fmt.Errorf("serving: %w", err)
	}
	return nil
}

// openEngine opens the engine and prepares the database that --admin names, so that missing rights and
// the like are reported at the start and not with the first call.
func openEngine(ctx context.Context, cfg Config, parser *parse.Parser, log *zap.Logger) (*engine.Engine, error) {
	eng, err := engine.Open(ctx, engine.Options{
		AdminDSN: cfg.Admin, NoInit: cfg.NoInit, DisableBadSelectors: cfg.DisableBadSelectors, Parser: parser,
		Log: log, SemaphoreInterval: cfg.SemaphoreInterval, WaitSweep: cfg.WaitSweep,
	})
	if err != nil {
		return nil, told.Of(err)
	}
	admin, err := pgx.ParseConfig(cfg.Admin)
	if err != nil { // the engine has parsed it before
		eng.Close()
		return nil, fmt.Errorf("reading the admin DSN: %w", err)
	}
	if cfg.NoInit {
		return eng, nil // other databases may have the schema; a call says it where one has not
	}
	if _, err := eng.Database(ctx, admin.Database); err != nil {
		eng.Close()
		return nil, told.Of(err)
	}
	return eng, nil
}

// loadTLS reads the certificate shown to clients; nil when there is none.
func loadTLS(cfg Config) (*tls.Config, error) {
	if cfg.TLSCert == "" {
		return nil, nil
	}
	cert, err := tls.LoadX509KeyPair(cfg.TLSCert, cfg.TLSKey)
	if err != nil {
		return nil, &told.Error{
			Message: fmt.Sprintf("the certificate cannot be used: %v", err),
			Hint:    "--tls-cert and --tls-key name PEM files that belong together and that this user can read",
			Err:     err,
		}
	}
	return &tls.Config{Certificates: []tls.Certificate{cert}, MinVersion: tls.VersionTLS12}, nil
}

// checkUpstream checks that one of the upstream's hosts takes connections.
func checkUpstream(ctx context.Context, dsn string) error {
	cfg, err := pgconn.ParseConfig(dsn)
	if err != nil {
		return &told.Error{
			Message: fmt.Sprintf("the DSN of the upstream server cannot be read: %v", err),
			Hint:    "for example: host=db.example.net port=5432 sslmode=verify-full",
			Err:     err,
		}
	}
	type place struct {
		host string
		port uint16
	}
	places := []place{{cfg.Host, cfg.Port}}
	for _, f := range cfg.Fallbacks {
		places = append(places, place{f.Host, f.Port})
	}
	var failures []error
	tried := map[place]bool{}
	for _, p := range places {
		if tried[p] {
			continue // the same address again, without TLS
		}
		tried[p] = true
		network, address := pgconn.NetworkAddress(p.host, p.port)
		dialer := net.Dialer{Timeout: dialTimeout}
		conn, err := dialer.DialContext(ctx, network, address)
		if err == nil {
			return conn.Close()
		}
		failures = append(failures, err)
	}
	if ctx.Err() != nil {
		return ctx.Err()
	}
	return &told.Error{
		Message: fmt.Sprintf("the upstream server cannot be reached: %v", errors.Join(failures...)),
		Hint:    "check that the server runs and that host and port of --upstream are right",
		Err:     errors.Join(failures...),
	}
}

// listenError explains why an address cannot be listened on.
func listenError(err error) error {
	e := &told.Error{Message: fmt.Sprintf("cannot listen: %v", err), Err: err}
	switch {
	case errors.Is(err, syscall.EADDRINUSE):
		e.Hint = "another program has this port: choose another with --listen, or stop that program (`ss -ltnp` shows which)"
	case errors.Is(err, syscall.EACCES):
		e.Hint = "ports below 1024 and closed folders need more rights: choose another with --listen"
	default:
		e.Hint = "--listen takes host:port of this machine, or the directory of a unix socket"
	}
	return e
}
