package web

import (
	"context"
	"io"
	"net"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"regexp"
	"strings"
	"testing"
)

// visitor is no browser: it sends what it likes.
type visitor struct {
	t      *testing.T
	client *http.Client
	base   string // where the page is
}

// newVisitor makes one that comes from an address of this machine.
func newVisitor(t *testing.T, from string) *visitor {
	t.Helper()
	jar, err := cookiejar.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	d := net.Dialer{LocalAddr: &net.TCPAddr{IP: net.ParseIP(from)}}
	transport := &http.Transport{DialContext: func(ctx context.Context, network, address string) (net.Conn, error) {
		return d.DialContext(ctx, network, address)
	}}
	t.Cleanup(transport.CloseIdleConnections)
	return &visitor{t, &http.Client{Jar: jar, Transport: transport, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}, base}
}

// answer is what came back.
type answer struct {
	status int
	header http.Header
	text   string
}

// send sends a request; changes may be made to it before.
func (v *visitor) send(method, path string, form url.Values, change ...func(*http.Request)) answer {
	v.t.Helper()
	req, err := http.NewRequestWithContext(v.t.Context(), method, v.base+path, strings.NewReader(form.Encode()))
	if err != nil {
		v.t.Fatal(err)
	}
	if method == http.MethodPost {
		req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	}
	for _, c := range change {
		c(req)
	}
	res, err := v.client.Do(req)
	if err != nil {
		v.t.Fatal(err)
	}
	defer func() { _ = res.Body.Close() }()
	text, err := io.ReadAll(res.Body)
	if err != nil {
		v.t.Fatal(err)
	}
	return answer{res.StatusCode, res.Header, string(text)}
}

func (v *visitor) get(path string, change ...func(*http.Request)) answer {
	v.t.Helper()
	return v.send(http.MethodGet, path, nil, change...)
}

func (v *visitor) post(path string, form url.Values, change ...func(*http.Request)) answer {
	v.t.Helper()
	return v.send(http.MethodPost, path, form, change...)
}

func header(name, value string) func(*http.Request) {
	return func(r *http.Request) { r.Header.Set(name, value) }
}

// field is the value of a hidden field.
func (a answer) field(name string) string {
	m := regexp.MustCompile(`name="` + name + `" value="([^"]*)"`).FindStringSubmatch(a.text)
	if m == nil {
		return ""
	}
	return m[1]
}

// logIn gives a user and a password, as the form does.
func (v *visitor) logIn(user, secret, database string, change ...func(*http.Request)) answer {
	v.t.Helper()
	form := v.get("login")
	return v.post("login", url.Values{"form": {form.field("form")}, "user": {user}, "password": {secret}, "database": {database}}, change...)
}

// mustLogIn is logIn that succeeds, and gives the token of the log-in's forms.
func (v *visitor) mustLogIn(user, database string) (token string) {
	v.t.Helper()
	if a := v.logIn(user, password, database); a.status != http.StatusSeeOther {
		v.t.Fatalf("logging in as %s: %d\n%s", user, a.status, a.text)
	}
	return v.get("").field("token")
}

// cookie is the visitor's cookie of its log-in.
func (v *visitor) cookie() *http.Cookie {
	u, err := url.Parse(v.base)
	if err != nil {
		v.t.Fatal(err)
	}
	for _, c := range v.client.Jar.Cookies(u) {
		if !strings.HasSuffix(c.Name, "_form") && !strings.HasSuffix(c.Name, "_known") {
			return c
		}
	}
	return nil
}
