package web

import (
	"bytes"
	"context"
	"errors"
	"net/http"
	"net/url"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"go.uber.org/zap"

	"mbusproxy/internal/web/access"
	"mbusproxy/trust"
)

// view is a page that shows something.
type view struct {
	path  string
	sheet string // the file of templates
	nav   string // its name in the navigation; "": it is not there
	under string // the path of the page in the navigation that it belongs to; "": itself
	// every is how often the page brings itself up to date; 0: never. Then the sheet defines the
	// template "live", which is what is new.
	every    time.Duration
	anywhere bool // it needs no queues: where there is no schema, it asks what is in pg_catalog
	// load asks what the page shows. It runs in a transaction that only reads.
	load func(c *call) (*shown, error)
}

// shown is what a page shows.
type shown struct {
	title  Text
	body   any
	status int // 0: 200
}

// call is one request for a page.
type call struct {
	ctx   context.Context // of the transaction
	tx    pgx.Tx
	page  *Page
	login *access.Login
	query url.Values // what the address asks for
	path  string     // with the query, as the browser has it
	may   *Rights
	stop  <-chan struct{} // closed when nobody waits for the answer any more
}

// frame is what layout.html shows.
type frame struct {
	Title, Version string
	User, Database Text
	Token, Here    string
	Nav            []navItem
	Told           Text
	Live           string // where what is new comes from
	May            *Rights
	Body           any
	Made           time.Time
}

// navItem is a page in the navigation.
type navItem struct {
	Path, Name string
	Current    bool
}

// problem is what a page says that cannot be shown. It is an error.
type problem struct {
	status            int
	Title, What, Hint Text
}

// Error is what happened.
func (p *problem) Error() string { return string(p.What) }

var staleForm = &problem{http.StatusForbidden, "The form has expired", "Your log-in has changed since the page was made.", "Go back, reload the page, and try again."}

// ask runs a view's load for a log-in.
func (p *Page) ask(ctx context.Context, l *access.Login, v *view, u *url.URL) (*shown, *Rights, error) {
	var out *shown
	var may *Rights
	load := func(rights func(context.Context, pgx.Tx) (*Rights, error)) func(context.Context, pgx.Tx) error {
		return func(work context.Context, tx pgx.Tx) (err error) {
			if may, err = rights(work, tx); err != nil {
				return err
			}
			c := &call{ctx: work, tx: tx, page: p, login: l, query: u.Query(), path: u.RequestURI(), may: may, stop: ctx.Done()}
			if !may.Installed && !v.anywhere {
				return notInstalled
			}
			out, err = v.load(c)
			return err
		}
	}
	err := l.View(ctx, load(p.rights))
	if v.anywhere && isAbsent(err) {
		// Whoever makes the schema meanwhile is not asked anything.
		err = l.ViewServer(ctx, load(p.ownRights))
	}
	return out, may, err
}

var notInstalled = &problem{
	http.StatusNotFound, "No queues here", "The schema mbus4 is not in this database, or your role may not see it.",
	"The first call of a function of mbus4 installs it, as `mbusproxy init` does; then ask for membership in mbus4_user. To see another database, log out and log in there.",
}

// show answers a request for a view.
func (p *Page) show(w http.ResponseWriter, r *http.Request, v *view) {
	l := p.who(r, true)
	if l == nil {
		p.toLogin(w, r)
		return
	}
	if !p.asking.enter(l.User) {
		p.fail(w, r, l, access.ErrBusy)
		return
	}
	defer p.asking.leave(l.User)
	out, may, err := p.ask(r.Context(), l, v, r.URL)
	if err != nil {
		p.fail(w, r, l, err)
		return
	}
	status := out.status
	if status == 0 {
		status = http.StatusOK
	}
	f := p.frame(l, v, string(out.title), r.URL.RequestURI())
	f.Body, f.May, f.Told = out.body, may, Text(l.Told())
	if v.every > 0 {
		f.Live = Path + "live?at=" + url.QueryEscape(r.URL.RequestURI())
	}
	p.render(w, status, v.sheet, f)
}

// frame is what is around a page.
func (p *Page) frame(l *access.Login, v *view, title, here string) *frame {
	f := &frame{Title: title, Version: p.cfg.Version, User: Text(l.User), Database: Text(l.Database), Token: l.Token, Here: here, Made: time.Now().UTC()}
	current := ""
	if v != nil {
		if current = v.under; current == "" {
			current = v.path
		}
	}
	for _, o := range p.allViews() {
		if o.nav != "" {
			f.Nav = append(f.Nav, navItem{o.path, o.nav, o.path == current})
		}
	}
	return f
}

// toLogin sends who has not logged in to the form, and back afterwards.
func (p *Page) toLogin(w http.ResponseWriter, r *http.Request) {
	q := url.Values{}
	if r.Method == http.MethodGet && r.URL.Path != Path {
		q.Set("next", r.URL.RequestURI())
	}
	if p.cookie(r, "") != "" {
		q.Set("ended", "1")
	}
	to := Path + "login"
	if len(q) > 0 {
		to += "?" + q.Encode()
	}
	http.Redirect(w, r, to, http.StatusSeeOther)
}

// render sends a page.
func (p *Page) render(w http.ResponseWriter, status int, sheet string, f *frame) {
	var b bytes.Buffer
	if err := p.sheets[sheet].ExecuteTemplate(&b, "layout", f); err != nil {
		p.cfg.Log.Error("page: a template failed", zap.String("sheet", sheet), zap.Error(err))
		http.Error(w, "This page has failed; the proxy's log says why.", http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.WriteHeader(status)
	_, _ = w.Write(b.Bytes())
}

// fail shows what went wrong.
func (p *Page) fail(w http.ResponseWriter, r *http.Request, l *access.Login, err error) {
	if errors.Is(err, access.ErrEnded) {
		p.toLogin(w, r)
		return
	}
	if r.Context().Err() != nil {
		return // nobody reads it
	}
	said := p.explain(err)
	f := &frame{Title: string(said.Title), Version: p.cfg.Version, Body: said}
	if l != nil {
		f = p.frame(l, nil, string(said.Title), "")
		f.Body = said
	}
	p.render(w, said.status, "problem.html", f)
}

// explain says what an error means to whoever asked.
func (p *Page) explain(err error) *problem {
	var known *problem
	var server *pgconn.PgError
	var refused *trust.Error
	switch {
	case errors.As(err, &known):
		return known
	case errors.As(err, &refused):
		return ofTrust(refused)
	case errors.Is(err, access.ErrBusy):
		return &problem{http.StatusServiceUnavailable, "Busy", "Your role's other requests are not answered yet.", "Try again in a moment. Others may hold what they need: see Horizon and Sessions."}
	case errors.As(err, &server):
		return ofServer(server)
	case errors.Is(err, pgx.ErrNoRows): // it was there a statement ago
		return &problem{http.StatusNotFound, "It is gone", "What you asked for has just ended or was dropped.", ""}
	}
	p.cfg.Log.Error("page: a request failed", zap.Error(err))
	return &problem{http.StatusInternalServerError, "That did not work", "The proxy's log says why.", ""}
}

// ofServer is an error of the server's as the page shows it.
func ofServer(e *pgconn.PgError) *problem {
	said := &problem{http.StatusUnprocessableEntity, "The server has refused it", Text(e.Message + " (SQLSTATE " + e.Code + ")"), Text(e.Hint)}
	switch e.Code {
	case "42501":
		said.status, said.Title = http.StatusForbidden, "Your role may not"
		if said.Hint == "" {
			said.Hint = "Seeing queues needs membership in mbus4_user, changing them in mbus4_admin."
		}
	case "42704":
		said.status, said.Title = http.StatusNotFound, "There is no such thing"
	case "57014", "55P03":
		said.status, said.Title = http.StatusServiceUnavailable, "It took too long"
		said.Hint = "Nothing was changed. Others may hold what it needs: see Horizon and Sessions."
	case "25006":
		said.status = http.StatusConflict
	}
	return said
}
