package upstream

import (
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"sync"
	"time"

	"github.com/jackc/pgx/v5/pgconn"

	"mbusproxy/proxy/endpoint"
)

// With target_session_attrs in Config.Upstream a session goes only to a server that fits. libpq
// looks at what the server says after authentication and goes on to the next host if need be; the
// proxy cannot, for what the server says is the client's by then. So it asks beforehand, on a
// connection of its own, as the role of Config.Admin.

const (
	probeMemory  = time.Second            // how long an answer holds
	probeTimeout = 3 * time.Second        // of one host, where Upstream has no connect_timeout
	probeGrace   = 100 * time.Millisecond // what hosts that come first get once another one fits
)

// host is one host of Config.Upstream and the ways to reach it: one, or with and without TLS.
type host struct {
	name string // of a machine, or the directory of a unix socket
	port uint16
	ways []Target
}

// prober finds the servers that fit. It is safe for concurrent use.
type prober struct {
	hosts   []host
	admin   *pgconn.Config // copied for each connection
	fits    pgconn.ValidateConnectFunc
	timeout time.Duration
	// life is the context of looks, which serve more than the session that began them.
	life func() context.Context

	mu   sync.Mutex
	last *probing // the one whose result holds, or the one under way; nil at first
}

// probing is one look at all hosts, shared by all who wait for it.
type probing struct {
	done chan struct{} // closed when the rest is set
	// targets are those to try, the best first.
	targets []Target
	// failed says why there is none.
	failed error
	until  time.Time // when it is too old
}

// newProber returns nil when every server fits.
func newProber(hosts []host, upstream *pgconn.Config, admin string, life func() context.Context) (*prober, error) {
	if upstream.ValidateConnect == nil { // target_session_attrs=any, the default
		return nil, nil
	}
	if admin == "" {
		return nil, errors.New("checking configuration: target_session_attrs needs a role to ask the servers with")
	}
	cfg, err := pgconn.ParseConfig(admin)
	if err != nil {
		return nil, fmt.Errorf("parsing admin: %w", err)
	}
	p := &prober{hosts: hosts, admin: cfg, fits: upstream.ValidateConnect, timeout: upstream.ConnectTimeout, life: life}
	if p.timeout == 0 {
		p.timeout = probeTimeout
	}
	return p, nil
}

// look returns a result that is fresh and not the one given, which may be nil.
func (p *prober) look(ctx context.Context, not *probing) (*probing, error) {
	p.mu.Lock()
	l := p.last
	if l == nil || l == not || l.stale(time.Now()) {
		l = &probing{done: make(chan struct{})}
		p.last = l
		go p.probe(l)
	}
	p.mu.Unlock()
	select {
	case <-l.done:
		return l, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

func (l *probing) stale(now time.Time) bool {
	select {
	case <-l.done:
		return now.After(l.until)
	default:
		return false
	}
}

// verdict is what came out about one host.
type verdict struct {
	fit    []Target // fits
	second []Target // would do: target_session_attrs=prefer-standby
	failed error
}

// probe asks all hosts at once and ends l when all have answered, or soon after one that fits has.
func (p *prober) probe(l *probing) {
	// A host that does not answer delays each look only by probeGrace while another one fits.
	ctx, cancel := context.WithTimeout(p.life(), p.timeout)
	defer cancel()
	verdicts := make([]verdict, len(p.hosts))
	type answer struct {
		host int
		verdict
	}
	answers := make(chan answer, len(p.hosts))
	for i, h := range p.hosts {
		verdicts[i].failed = fmt.Errorf("%s: no answer", h.name)
		go func() { answers <- answer{i, p.askHost(ctx, h)} }()
	}
	var grace <-chan time.Time
	for left := len(p.hosts); left > 0; {
		select {
		case a := <-answers:
			verdicts[a.host] = a.verdict
			left--
			if len(a.fit) > 0 && grace == nil {
				grace = time.After(probeGrace)
			}
		case <-grace:
			left = 0
		}
	}
	var second []Target
	var failed []error
	for _, v := range verdicts {
		l.targets = append(l.targets, v.fit...)
		second = append(second, v.second...)
		failed = append(failed, v.failed)
	}
	l.targets = append(l.targets, second...)
	l.failed = errors.Join(failed...)
	l.until = time.Now().Add(probeMemory)
	close(l.done)
}

// askHost asks the servers behind all addresses of a host, in the order of the name service.
func (p *prober) askHost(ctx context.Context, h host) verdict {
	addresses := []string{h.name}
	if h.ways[0].network != "unix" {
		var err error
		if addresses, err = net.DefaultResolver.LookupHost(ctx, h.name); err != nil {
			return verdict{failed: err}
		}
	}
	errs := make([]error, len(addresses))
	var asking sync.WaitGroup
	for i, a := range addresses {
		asking.Go(func() { errs[i] = p.ask(ctx, h, a) })
	}
	asking.Wait()
	var v verdict
	var failed []error
	for i, a := range addresses {
		network, address := pgconn.NetworkAddress(a, h.port)
		ways := slices.Clone(h.ways)
		for j := range ways {
			ways[j].network, ways[j].address = network, address
		}
		switch {
		case errs[i] == nil:
			v.fit = append(v.fit, ways...)
		case errors.As(errs[i], new(*pgconn.NotPreferredError)):
			v.second = append(v.second, ways...)
		default:
			failed = append(failed, fmt.Errorf("%s: %w", address, errs[i]))
		}
	}
	v.failed = errors.Join(failed...)
	return v
}

// ask connects to one server and returns nil if it fits.
func (p *prober) ask(ctx context.Context, h host, address string) error {
	cfg := p.admin.Copy()
	cfg.Host, cfg.Port, cfg.TLSConfig = address, h.port, h.ways[0].tls
	cfg.SSLNegotiation = "postgres"
	if h.ways[0].direct {
		cfg.SSLNegotiation = "direct"
	}
	cfg.Fallbacks = nil
	for _, w := range h.ways[1:] {
		cfg.Fallbacks = append(cfg.Fallbacks, &pgconn.FallbackConfig{Host: address, Port: h.port, TLSConfig: w.tls})
	}
	cfg.ConnectTimeout = p.timeout
	cfg.ValidateConnect = nil // that would try the other way when this server does not fit
	if cfg.RuntimeParams["application_name"] == "" {
		cfg.RuntimeParams["application_name"] = "mbusproxy"
	}
	conn, err := pgconn.ConnectConfig(ctx, cfg)
	if err != nil {
		return err
	}
	defer func() {
		// Also after ctx has ended; the server is not to log a lost connection.
		last, cancel := context.WithTimeout(context.WithoutCancel(ctx), endpoint.GoodbyeTime)
		defer cancel()
		_ = conn.Close(last)
	}()
	// What is asked calls a function by its bare name, and the owner of a database can set a search path for all.
	// For a transaction only: behind a pooler the session may be somebody else's next.
	if _, err := conn.Exec(ctx, "begin; set local search_path = pg_catalog").ReadAll(); err != nil {
		return fmt.Errorf("setting search_path: %w", err)
	}
	return p.fits(ctx, conn)
}

// Route returns the targets for one session.
func (u *Servers) Route(ctx context.Context) (*Servers, error) { return u.routeUnlike(ctx, nil) }

// Reroute returns other targets after none of those of a former route could be reached; nil when
// there is no use in it.
func (u *Servers) Reroute(ctx context.Context, former *Servers) (*Servers, error) {
	if u.prober == nil {
		return nil, nil
	}
	return u.routeUnlike(ctx, former.probing)
}

func (u *Servers) routeUnlike(ctx context.Context, not *probing) (*Servers, error) {
	if u.prober == nil {
		return u, nil
	}
	l, err := u.prober.look(ctx, not)
	if err != nil {
		return nil, err
	}
	if len(l.targets) == 0 {
		return nil, &NoneFits{l.failed}
	}
	return &Servers{targets: l.targets, timeout: u.timeout, probing: l}, nil
}

// NoneFits says for each host why it does not fit.
type NoneFits struct{ Err error }

func (e *NoneFits) Error() string { return "no server fits: " + e.Err.Error() }
func (e *NoneFits) Unwrap() error { return e.Err }
