package web

import (
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"testing"

	"mbusproxy/integration/internal/harness"
)

// outside reports whether an answer sends somebody to the log-in.
func outside(a answer) bool {
	return a.status == http.StatusSeeOther && strings.HasPrefix(a.header.Get("Location"), "/page/login")
}

// A cookie that this proxy has not signed, or of which anything is changed, is none.
func TestForgedCookies(t *testing.T) {
	t.Parallel()
	s := newSite(t, "orders")
	v := newVisitor(t, "127.0.0.1")
	a := v.logIn(s.user, password, s.database)
	set := a.header.Values("Set-Cookie")
	if len(set) != 3 {
		t.Fatalf("cookies: %q", set)
	}
	for _, c := range set {
		for _, want := range []string{"HttpOnly", "SameSite=Strict", "Path=/page/"} {
			if !strings.Contains(c, want) {
				t.Errorf("a cookie without %s: %s", want, c)
			}
		}
	}
	c := v.cookie()
	id, seal, _ := strings.Cut(c.Value, ".")
	if len(id) != 43 || len(seal) != 43 {
		t.Fatalf("the cookie is %q", c.Value)
	}
	last := "A"
	if strings.HasSuffix(id, last) {
		last = "Q"
	}
	other := newVisitor(t, "127.0.0.1")
	for _, forged := range []string{"", ".", id, id + ".", "." + seal, id + "." + strings.Repeat("A", 43), seal + "." + id, id + "." + seal[:42], id + "." + seal + "A", id[:42] + last + "." + seal, strings.Repeat("A", 43) + "." + seal, strings.Repeat("x", 9000)} {
		if a := other.get("", header("Cookie", c.Name+"="+forged)); !outside(a) {
			t.Errorf("a forged cookie %.100q: %d", forged, a.status)
		}
	}
	if a := other.get("", header("Cookie", c.Name+"="+c.Value)); a.status != http.StatusOK {
		t.Errorf("the real cookie: %d", a.status)
	}
	v.post("logout", url.Values{"token": {v.get("").field("token")}})
	if a := other.get("", header("Cookie", c.Name+"="+c.Value)); !outside(a) {
		t.Errorf("the cookie of somebody who has logged out: %d", a.status)
	}
}

// Nothing is changed by a form that another site sends, or that has not the token of the very log-in, whatever says so.
func TestCrossSite(t *testing.T) {
	t.Parallel()
	s := newSite(t, "orders")
	v, other := newVisitor(t, "127.0.0.1"), newVisitor(t, "127.0.0.1")
	token := v.mustLogIn(s.admin, s.database)
	foreign := other.mustLogIn(s.admin, s.database)
	form := func(token string) url.Values { return url.Values{"queue": {"orders"}, "token": {token}} }
	for name, a := range map[string]answer{
		"without a token":      v.post("queue/pause", form("")),
		"another one's token":  v.post("queue/pause", form(foreign)),
		"a part of the token":  v.post("queue/pause", form(token[:20])),
		"token in the address": v.post("queue/pause?token="+token, url.Values{"queue": {"orders"}}),
		"cross-site":           v.post("queue/pause", form(token), header("Sec-Fetch-Site", "cross-site")),
		"same-site":            v.post("queue/pause", form(token), header("Sec-Fetch-Site", "same-site")),
		"from elsewhere":       v.post("queue/pause", form(token), header("Origin", "http://evil.example")),
		"from nowhere":         v.post("queue/pause", form(token), header("Origin", "null")),
		"another port":         v.post("queue/pause", form(token), header("Origin", "http://127.0.0.1:1")),
		"logging out":          v.post("logout", url.Values{}),
	} {
		if a.status != http.StatusForbidden {
			t.Errorf("%s: %d", name, a.status)
		}
	}
	if a := v.get("queue/pause?queue=orders&token=" + token); a.status != http.StatusNotFound {
		t.Errorf("by GET: %d", a.status)
	}
	// Nor does another site log somebody in as somebody else.
	stranger := newVisitor(t, "127.0.0.1")
	credentials := url.Values{"user": {s.admin}, "password": {password}, "database": {s.database}}
	if a := stranger.post("login", credentials); a.status != http.StatusForbidden {
		t.Errorf("logging in without the form: %d", a.status)
	}
	if a := stranger.logIn(s.admin, password, s.database, header("Sec-Fetch-Site", "cross-site")); a.status != http.StatusForbidden {
		t.Errorf("logging in from another site: %d", a.status)
	}
	if got := s.ask(t, "select bool_or(paused) from mbus4.queues"); got != "f" {
		t.Error("a queue was paused")
	}
	if a := v.post("queue/pause", form(token), header("Origin", strings.TrimSuffix(base, "/page/"))); a.status != http.StatusSeeOther {
		t.Errorf("the page's own form: %d", a.status)
	}
	if got := s.ask(t, "select paused from mbus4.queues where queue = 'orders'"); got != "t" {
		t.Error("the page's own form did nothing")
	}
	if got := harness.Ask(t, s.direct, "select count(*), min(action), min(queue), min(role) from mbus4.audit"); got != "1|pause_queue|orders|"+s.admin {
		t.Errorf("the audit has %s", got)
	}
}

// Who tries passwords has to wait, and others need not wait for that.
func TestLoginFlood(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	v := newVisitor(t, "127.0.0.9")
	var refused, limited int
	for range 12 {
		switch a := v.logIn(s.user, "guess", s.database); a.status {
		case http.StatusForbidden:
			refused++
		case http.StatusTooManyRequests:
			limited++
			if a.header.Get("Retry-After") == "" || !strings.Contains(a.text, "too many attempts") {
				t.Errorf("429 without words: %s", a.text)
			}
		default:
			t.Fatalf("status %d", a.status)
		}
	}
	// One attempt comes back every six seconds, and the machine may be slow.
	if refused < 5 || limited < 1 {
		t.Errorf("%d attempts were made, %d were not", refused, limited)
	}
	if a := v.logIn(s.user, password, s.database); limited >= 5 && a.status != http.StatusTooManyRequests {
		t.Errorf("the right password after a flood: %d", a.status)
	}
}

// Whoever guesses, from however many addresses of a machine, keeps out neither another role nor a browser in which
// somebody has logged in before.
func TestGuessesKeepNobodyOut(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	known := newVisitor(t, "127.0.0.1")
	known.post("logout", url.Values{"token": {known.mustLogIn(s.user, s.database)}})
	for i := range 60 {
		newVisitor(t, fmt.Sprintf("127.0.1.%d", i)).logIn(s.user, "guess", s.database)
	}
	newVisitor(t, "127.0.2.1").mustLogIn(s.admin, s.database)
	known.mustLogIn(s.user, s.database)
}

// The page is this machine's under its own names only: a name of somebody else's that leads here is
// refused, so that no site reads it.
func TestHostNames(t *testing.T) {
	t.Parallel()
	v := newVisitor(t, "127.0.0.1")
	for host, status := range map[string]int{"evil.example": 421, "evil.example:80": 421, "127.0.0.1.evil.example": 421, "localhost.evil.example": 421, "10.0.0.1": 421, "localhost": 200, "LOCALHOST:99": 200, "[::1]:1": 200, "127.9.9.9": 200} {
		if a := v.get("login", func(r *http.Request) { r.Host = host }); a.status != status {
			t.Errorf("as %s: %d", host, a.status)
		}
	}
	a := v.get("login")
	for name, want := range map[string]string{"Content-Security-Policy": "default-src 'none'", "X-Content-Type-Options": "nosniff", "X-Frame-Options": "DENY", "Cache-Control": "no-store", "Cross-Origin-Resource-Policy": "same-origin"} {
		if !strings.HasPrefix(a.header.Get(name), want) {
			t.Errorf("%s is %q", name, a.header.Get(name))
		}
	}
	v.base = strings.TrimSuffix(base, "page/")
	for _, path := range []string{"", "metrics", "healthz", "readyz", "nothing"} {
		if h := v.get(path).header; h.Get("X-Content-Type-Options") != "nosniff" || h.Get("X-Frame-Options") != "DENY" || h.Get("Cross-Origin-Resource-Policy") != "same-origin" {
			t.Errorf("/%s: %v", path, h)
		}
	}
	if csp := a.header.Get("Content-Security-Policy"); strings.Contains(csp, "unsafe") || strings.Contains(csp, "*") {
		t.Errorf("the policy is %s", csp)
	}
	if strings.Contains(a.text, "<style") || strings.Contains(a.text, " style=") || strings.Contains(a.text, "<script>") || strings.Contains(a.text, " on") && strings.Contains(a.text, "onclick") {
		t.Errorf("something inline:\n%s", a.text)
	}
}

// Roles that the server lets in by other means than a password cannot log in, and are told so.
func TestOtherMethods(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	for _, role := range []string{"trusted", "cleartext"} {
		harness.Admin(t, "create role "+role+" login superuser password '"+role+"'")
		t.Cleanup(func() { harness.Admin(t, "drop role "+role) })
		a := newVisitor(t, "127.0.0.11").logIn(role, role, s.database)
		if a.status != http.StatusForbidden || !strings.Contains(a.text, "LDAP") {
			t.Errorf("%s: %d\n%s", role, a.status, a.text)
		}
	}
	for name, who := range map[string]string{"mbusproxy": s.operator, "mbusproxy/" + s.database: s.operator} {
		a := newVisitor(t, "127.0.0.12").logIn(who, password, name)
		if a.status != http.StatusForbidden || !strings.Contains(a.text, "console, not a database") {
			t.Errorf("the console as a database, %s: %d\n%s", name, a.status, a.text)
		}
	}
	if a := newVisitor(t, "127.0.0.12").logIn(s.user, password, "mbusproxy"); a.status != http.StatusForbidden || !strings.Contains(a.text, "for members of the role") {
		t.Errorf("the console as a database, by who may not use it: %d\n%s", a.status, a.text)
	}
	a := newVisitor(t, "127.0.0.11").logIn(s.user, password, "no_such_database")
	if a.status != http.StatusForbidden || !strings.Contains(a.text, "does not exist") {
		t.Errorf("a database that there is not: %d\n%s", a.status, a.text)
	}
}

// Each log-in sees and does what its role may, and nothing that another one's may: also when all
// ask at once, after a right is taken away, and in what the server says of the sessions.
func TestRoles(t *testing.T) {
	t.Parallel()
	s := newSite(t, "orders")
	s.ask(t, "select mbus4.post('orders', 'secret=>inside', iid => 'm1')")
	admin, user, stranger, operator := newVisitor(t, "127.0.0.1"), newVisitor(t, "127.0.0.1"), newVisitor(t, "127.0.0.1"), newVisitor(t, "127.0.0.1")
	admin.mustLogIn(s.admin, s.database)
	token := user.mustLogIn(s.user, s.database)
	stranger.logIn(s.stranger, password, s.database)
	operator.mustLogIn(s.operator, s.database)
	var at sync.WaitGroup
	turns := make(chan bool, 8) // as many as a role may have answered at a time
	asking := func(f func()) {
		at.Go(func() {
			turns <- true
			defer func() { <-turns }()
			f()
		})
	}
	for range 5 {
		for _, path := range []string{"", "queue?name=orders", "messages?queue=orders", "message?iid=m1", "work", "semaphores", "messages?queue=orders&selector=true"} {
			asking(func() {
				a := stranger.get(path)
				if a.status == http.StatusOK || strings.Contains(a.text, "secret") || strings.Contains(a.text, "default") || strings.Contains(a.text, "orders</a>") {
					t.Errorf("the stranger at %q: %d\n%s", path, a.status, a.text)
				}
			})
			asking(func() {
				a := user.get(path)
				if a.status != http.StatusOK || !strings.Contains(a.text, "<b>"+s.user+"</b>") || strings.Contains(a.text, "queue/pause") {
					t.Errorf("the user at %q: %d\n%s", path, a.status, a.text)
				}
			})
			asking(func() {
				if a := admin.get(path); a.status != http.StatusOK || !strings.Contains(a.text, "<b>"+s.admin+"</b>") || strings.Contains(path, "queue?") != strings.Contains(a.text, "queue/pause") {
					t.Errorf("the admin at %q: %d\n%s", path, a.status, a.text)
				}
			})
		}
	}
	at.Wait()
	for v, sees := range map[*visitor]bool{admin: false, user: false, stranger: false, operator: true} {
		if a := v.get("sessions"); a.status != http.StatusOK || strings.Contains(a.text, "In this proxy") != sees || strings.Contains(a.text, "sessions/end") != sees {
			t.Errorf("sessions: %d\n%s", a.status, a.text)
		}
	}
	if a := user.post("queue/pause", url.Values{"queue": {"orders"}, "token": {token}}); a.status != http.StatusForbidden {
		t.Errorf("pausing without the right: %d\n%s", a.status, a.text)
	}
	if a := user.post("sessions/end", url.Values{"session": {"1"}, "token": {token}}); a.status != http.StatusForbidden {
		t.Errorf("ending a session without the right: %d\n%s", a.status, a.text)
	}
	if got := harness.Ask(t, s.direct, "select count(*) from mbus4.audit"); got != "0" {
		t.Errorf("the audit has %s rows of what was not done", got)
	}
	// Its sessions are the role's, nobody else's, and hold no transaction open.
	got := harness.Ask(t, s.direct, "select usename, count(*), bool_or(state = 'idle in transaction') from pg_stat_activity where application_name = 'mbusproxy page' and datname = current_database() group by 1 order by 1")
	want := fmt.Sprintf("%s|2|f\n%s|2|f\n%s|2|f\n%s|2|f", s.admin, s.operator, s.stranger, s.user)
	if got != want {
		t.Errorf("sessions at the server:\n%s", got)
	}
	harness.Admin(t, "revoke mbus4_user from "+s.user)
	if a := user.get("queue?name=orders"); a.status == http.StatusOK {
		t.Errorf("after the right was taken away: %d", a.status)
	}
	harness.Ask(t, s.direct, "select pg_terminate_backend(pid) from pg_stat_activity where usename = $1", s.admin)
	for range 3 { // which of its sessions a page uses is its own affair
		if outside(admin.get("")) {
			return
		}
	}
	t.Error("the log-in goes on without its sessions")
}

// What is typed into the page is a value, never SQL.
func TestInjection(t *testing.T) {
	t.Parallel()
	s := newSite(t, "orders")
	s.ask(t, "select mbus4.post('orders', 'a=>1')")
	v := newVisitor(t, "127.0.0.1")
	token := v.mustLogIn(s.admin, s.database)
	evil := []string{
		"'; drop table mbus4.message; --", `\'; select pg_sleep(60); --`, "$1", "‹condition›", "%s%n", "orders' or '1'='1", `"; drop schema mbus4 cascade; --`, "/* */", "a\x00b", "\xff\xfe", "mbus4.purge_queue('orders')",
		"select mbus4.consume('orders')", strings.Repeat("(", 5000), "true) or (select count(*) from pg_authid) > 0 --", "pg_catalog.pg_read_file('/etc/passwd') = ''", "(select 1) = 1", "current_user = 'postgres'",
	}
	for _, e := range evil {
		q := url.QueryEscape(e)
		for _, path := range []string{
			"?filter=" + q, "queue?name=" + q, "messages?queue=" + q, "messages?queue=orders&consumer=" + q, "messages?queue=orders&state=" + q, "messages?queue=orders&column=data&key=" + q + "&value=" + q,
			"messages?queue=orders&column=" + q + "&key=a", "messages?queue=orders&selector=" + q, "messages?queue=orders&at=" + q + "%7C1", "message?iid=" + q, "semaphore?key=" + q,
		} {
			if len(path) > 8000 {
				continue
			}
			if a := v.get(path); a.status == http.StatusInternalServerError || a.status == http.StatusServiceUnavailable || strings.Contains(a.text, "root:") {
				t.Errorf("%s: %d\n%s", path, a.status, a.text)
			}
		}
		for _, form := range []string{"queue/pause", "queue/resume", "work/release"} {
			if a := v.post(form, url.Values{"queue": {e}, "consumer": {e}, "process": {e}, "token": {token}, "back": {e}}); a.status < 400 {
				t.Errorf("%s with %q: %d", form, e, a.status)
			}
		}
	}
	if got := s.ask(t, "select count(*) from mbus4.message"); got != "1" {
		t.Errorf("there are %s messages", got)
	}
	// Nor does the log-in lead anywhere else.
	for _, to := range []string{"//evil.example/", "https://evil.example/", `/page/\evil.example`, "/page/logout", "javascript:alert(1)", "/page/../metrics\r\nX: y"} {
		w := newVisitor(t, "127.0.0.1")
		form := w.get("login?next=" + url.QueryEscape(to))
		a := w.post("login", url.Values{"form": {form.field("form")}, "user": {s.user}, "password": {password}, "database": {s.database}, "next": {to}})
		if at := a.header.Get("Location"); a.status != http.StatusSeeOther || at != "/page/" {
			t.Errorf("next %q leads to %q (%d)", to, at, a.status)
		}
	}
}
