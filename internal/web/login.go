package web

import (
	"errors"
	"fmt"
	"math"
	"net/http"
	"strconv"
	"strings"

	"github.com/jackc/pgx/v5/pgconn"
	"go.uber.org/zap"

	"mbusproxy/internal/web/access"
)

// loginSheet is what login.html shows.
type loginSheet struct {
	User, Database Text
	Form, Next     string
	Problem, Hint  Text
}

// cookieName is the name of a cookie; with TLS browsers take it by TLS only.
func (p *Page) cookieName(r *http.Request, what string) string {
	name := p.cfg.Cookie + what
	if r.TLS != nil {
		name = "__Secure-" + name
	}
	return name
}

// setCookie sets a cookie for as long as the browser runs, or removes it; knownCookie is kept for knownDays.
func (p *Page) setCookie(w http.ResponseWriter, r *http.Request, what, value string) {
	c := &http.Cookie{Name: p.cookieName(r, what), Value: value, Path: Path, HttpOnly: true, Secure: r.TLS != nil, SameSite: http.SameSiteStrictMode}
	switch {
	case value == "":
		c.MaxAge = -1
	case what == knownCookie:
		c.MaxAge = knownDays * 24 * 60 * 60
	}
	http.SetCookie(w, c)
}

// knownCookie is the cookie by which a browser is known to the role that has logged in with it last.
const (
	knownCookie = "_known"
	knownDays   = 90
)

func (p *Page) cookie(r *http.Request, what string) string {
	c, err := r.Cookie(p.cookieName(r, what))
	if err != nil {
		return ""
	}
	return c.Value
}

// who is the log-in of a request; nil where nobody has logged in. asked as access.Store.Find has it.
func (p *Page) who(r *http.Request, asked bool) *access.Login {
	return p.logins.Find(p.cookie(r, ""), asked)
}

// next is the page to go to after the log-in: one of ours.
func next(given string) string {
	if !strings.HasPrefix(given, Path) || strings.HasPrefix(given, Path+"log") || strings.ContainsAny(given, "\\\r\n") {
		return Path
	}
	return given
}

func (p *Page) askLogin(w http.ResponseWriter, r *http.Request) {
	if p.who(r, true) != nil {
		http.Redirect(w, r, next(r.FormValue("next")), http.StatusSeeOther)
		return
	}
	sheet := loginSheet{Database: Text(p.cfg.Database), Next: next(r.FormValue("next"))}
	if r.FormValue("ended") != "" {
		sheet.Problem = "Your log-in has ended. Log in to continue."
	}
	p.showLogin(w, r, http.StatusOK, sheet)
}

func (p *Page) showLogin(w http.ResponseWriter, r *http.Request, status int, sheet loginSheet) {
	cookie, token := p.logins.NewForm()
	p.setCookie(w, r, "_form", cookie)
	sheet.Form = token
	p.render(w, status, "login.html", &frame{Title: "Log in", Version: p.cfg.Version, Body: sheet})
}

func (p *Page) login(w http.ResponseWriter, r *http.Request) {
	if err := r.ParseForm(); err != nil {
		p.fail(w, r, nil, &problem{http.StatusBadRequest, "Invalid form", "It is too long, or not a form of this page.", ""})
		return
	}
	who := access.Credentials{User: r.PostFormValue("user"), Password: r.PostFormValue("password"), Database: r.PostFormValue("database")}
	sheet := loginSheet{User: Text(who.User), Database: Text(who.Database), Next: next(r.PostFormValue("next"))}
	if !p.logins.IsForm(p.cookie(r, "_form"), r.PostFormValue("form")) {
		sheet.Problem, sheet.Hint = "The form has expired.", "Enter the password again. The page needs cookies."
		p.showLogin(w, r, http.StatusForbidden, sheet)
		return
	}
	if who.User == "" || who.Database == "" || strings.ContainsRune(who.User+who.Password+who.Database, 0) {
		sheet.Problem = "Enter a user and a database."
		p.showLogin(w, r, http.StatusBadRequest, sheet)
		return
	}
	if old := p.who(r, false); old != nil {
		p.logins.End(old)
	}
	l, err := p.logins.Open(r.Context(), remote(r), p.cookie(r, knownCookie), who)
	if err != nil {
		var status int
		status, sheet.Problem, sheet.Hint = whyNot(err, w.Header())
		if status == http.StatusBadGateway {
			p.cfg.Log.Warn("page: the server cannot be reached", zap.String("database", who.Database), zap.Error(err))
		}
		p.showLogin(w, r, status, sheet)
		return
	}
	p.goOn(l)
	p.setCookie(w, r, "_form", "")
	p.setCookie(w, r, "", p.logins.Cookie(l))
	p.setCookie(w, r, knownCookie, p.logins.Known(l))
	http.Redirect(w, r, sheet.Next, http.StatusSeeOther)
}

// whyNot says why somebody could not log in: the server's own words, which it chooses so that they
// tell nothing of who there is.
func whyNot(err error, h http.Header) (status int, what, hint Text) {
	var many *access.TooMany
	var refused *pgconn.PgError
	switch {
	case errors.As(err, &many):
		seconds := int(math.Ceil(many.Wait.Seconds()))
		h.Set("Retry-After", strconv.Itoa(max(1, seconds)))
		return http.StatusTooManyRequests, Text("Not now: " + many.Message + "."), Text(fmt.Sprintf("Try again in %d s.", max(1, seconds)))
	case errors.As(err, &refused):
		switch refused.Code {
		case "3D000", "42501":
			return http.StatusForbidden, Text(refused.Message), Text(refused.Hint)
		case "42601":
			return http.StatusForbidden, "That is the proxy's console, not a database.", "Name the database whose queues you want to see; psql takes you to the console."
		}
		return http.StatusForbidden, Text(refused.Message), "The server must ask for a password, by SCRAM or MD5. Roles that log in by peer, certificate or LDAP cannot use the page."
	case strings.Contains(err.Error(), "require_auth"):
		return http.StatusForbidden, "The server does not ask this role for a password by SCRAM or MD5.",
			"Roles that get in by trust, peer, certificate, LDAP or a password in clear text cannot use the page: pg_hba.conf needs a line with scram-sha-256 for them."
	}
	return http.StatusBadGateway, "The server cannot be reached.", "The proxy's log says why."
}

func (p *Page) logout(w http.ResponseWriter, r *http.Request) {
	l := p.who(r, false)
	if l != nil && !l.IsToken(r.PostFormValue("token")) {
		p.fail(w, r, l, staleForm)
		return
	}
	if l != nil {
		p.logins.End(l)
	}
	p.setCookie(w, r, "", "")
	http.Redirect(w, r, Path+"login", http.StatusSeeOther)
}
