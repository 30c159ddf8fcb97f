package web

import (
	"context"
	"html/template"
	"net"
	"net/http"
	"sync"

	"go.uber.org/zap"

	"mbusproxy/internal/quota"
	"mbusproxy/internal/web/access"
	"mbusproxy/internal/web/sampling"
	"mbusproxy/proxy"
	"mbusproxy/trust"
)

// Path is where the page begins.
const Path = "/page/"

// Config is what the page needs of the program. Its functions are safe for concurrent use.
type Config struct {
	Version string
	// Dial opens a connection to the proxy.
	Dial func(ctx context.Context) (net.Conn, error)
	// Trusting lets in whom the server asks for no password: for a private server on this machine.
	Trusting bool
	Database string // that the form of the log-in suggests
	// ConsoleRole is the role whose members see the process itself; "": nobody does.
	ConsoleRole string
	// Admin is the role that keeps house, whose schema those trust who are no superusers.
	Admin string
	Proxy func() proxy.Stats
	// End ends a session of the proxy's.
	End func(id uint64) bool
	// Calls gives for each function how many statements with calls of it have run and failed.
	Calls func(each func(function string, ok, failed uint64))
	// Condition makes SQL of a selector, over t, a row of mbus4.qt_model, as selectors in a
	// database are made: 1 matches.
	Condition func(ctx context.Context, database, selector string) (sql string, err error)
	// Loopback says that the page is served to this machine only.
	Loopback bool
	// Plain serves it without TLS, too. On a loopback address it is so anyway.
	Plain bool
	// HasTLS says that the address speaks TLS as well.
	HasTLS bool
	// Cookie is the name of the cookie; two proxies on one machine need two.
	Cookie string
	Log    *zap.Logger
}

// Page serves the page. Close ends its log-ins.
type Page struct {
	cfg Config
	// question is asked first in each transaction, see trusted.
	question string
	logins   *access.Store
	samples  *sampling.Sampler
	views    map[string]*view
	forms    map[string]*form
	sheets   map[string]*template.Template // by file
	streams  *quota.Places[string]
	asking   asking
	runs     runs
	ctx      context.Context // ends with Close; for what outlives a request
	stop     context.CancelFunc
	done     sync.WaitGroup
}

// Bounds of streams of events, each of which takes a connection of --http; see quota.Places.
const (
	mostStreams       = 24
	mostStreamsOfRole = 8
)

// New makes a Page.
func New(cfg Config) (*Page, error) {
	ctx, stop := context.WithCancel(context.Background())
	p := &Page{cfg: cfg, question: trust.ForPerson(cfg.Admin), views: map[string]*view{}, forms: map[string]*form{}, streams: quota.New[string](mostStreams, mostStreamsOfRole), ctx: ctx, stop: stop}
	p.logins = access.NewStore(access.Config{Dial: cfg.Dial, Trusting: cfg.Trusting, Check: p.trusted, Log: cfg.Log})
	p.samples = sampling.New(sampling.Config{Proxy: cfg.Proxy, Calls: cfg.Calls, Each: p.logins.Each, MaySee: p.maySee})
	for _, v := range p.allViews() {
		p.views[v.path] = v
	}
	for _, f := range p.allForms() {
		p.forms[f.path] = f
	}
	var err error
	if p.sheets, err = parseSheets(); err != nil {
		p.Close()
		return nil, err
	}
	p.done.Go(func() { p.samples.Run(ctx) })
	return p, nil
}

// Close ends all log-ins and streams.
func (p *Page) Close() {
	p.stop()
	p.logins.Close()
	p.runs.wait()
	p.done.Wait()
}

// Handler serves what is below Path.
func (p *Page) Handler() http.Handler {
	mux := http.NewServeMux()
	for path, a := range assets() {
		mux.Handle("GET "+path, a)
	}
	mux.HandleFunc("GET "+Path+"login", p.askLogin)
	mux.HandleFunc("POST "+Path+"login", p.login)
	mux.HandleFunc("POST "+Path+"logout", p.logout)
	mux.HandleFunc("GET "+Path+"live", p.live)
	for _, v := range p.views {
		pattern := v.path
		if pattern == Path {
			pattern += "{$}"
		}
		mux.HandleFunc("GET "+pattern, func(w http.ResponseWriter, r *http.Request) { p.show(w, r, v) })
	}
	for _, f := range p.forms {
		mux.HandleFunc("POST "+f.path, func(w http.ResponseWriter, r *http.Request) { p.submit(w, r, f) })
	}
	mux.HandleFunc(Path, func(w http.ResponseWriter, r *http.Request) {
		p.fail(w, r, nil, &problem{http.StatusNotFound, "Page not found", "The address is wrong, or what it led to is gone.", ""})
	})
	return p.guard(mux)
}
