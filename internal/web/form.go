package web

import (
	"context"
	"net/http"

	"github.com/jackc/pgx/v5"

	"mbusproxy/internal/web/access"
)

// form is what changes something.
type form struct {
	path string
	// run does it, and returns where to go and what to tell there. It changes things by submission.change.
	run func(s *submission) (to, told string, err error)
}

// submission is one form that was sent, with the log-in's token.
type submission struct {
	ctx   context.Context
	page  *Page
	login *access.Login
	r     *http.Request // parsed
}

// value is a field of the form.
func (s *submission) value(name string) string { return s.r.PostFormValue(name) }

// change runs f in a transaction with the rights of the role, and leaves the row of the audit in the same.
func (s *submission) change(what audit, f func(ctx context.Context, tx pgx.Tx) error) error {
	return s.login.Change(s.ctx, func(ctx context.Context, tx pgx.Tx) error {
		if err := f(ctx, tx); err != nil {
			return err
		}
		return what.note(ctx, tx)
	})
}

// submit answers a form.
func (p *Page) submit(w http.ResponseWriter, r *http.Request, f *form) {
	l := p.who(r, true)
	if l == nil {
		p.toLogin(w, r)
		return
	}
	if err := r.ParseForm(); err != nil {
		p.fail(w, r, l, &problem{http.StatusBadRequest, "Invalid form", "It is too long, or not a form of this page.", ""})
		return
	}
	if !l.IsToken(r.PostFormValue("token")) {
		p.fail(w, r, l, staleForm)
		return
	}
	if !p.asking.enter(l.User) {
		p.fail(w, r, l, access.ErrBusy)
		return
	}
	defer p.asking.leave(l.User)
	to, told, err := f.run(&submission{ctx: r.Context(), page: p, login: l, r: r})
	if err != nil {
		p.fail(w, r, l, err)
		return
	}
	l.Tell(told)
	http.Redirect(w, r, next(to), http.StatusSeeOther)
}
