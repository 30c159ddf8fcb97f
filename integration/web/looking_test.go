package web

import (
	"fmt"
	"html"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"testing"

	"mbusproxy/integration/internal/harness"
)

// Whoever logs in to a database in which somebody has made a schema mbus4 of his own has nothing of it run: by no page, by no
// form, and not by what goes on with operations without a click. The page says whose it is.
func TestPageAtHostileSchema(t *testing.T) {
	t.Parallel()
	for n, kind := range slices.Concat(harness.HostileKinds, harness.HostileMakers) {
		t.Run(kind, func(t *testing.T) {
			h := harness.NewHostile(t, kind)
			user := h.Database + "_user"
			harness.Admin(t, "create role "+user+" login in role mbus4_user password 'a ''pass\\word'")
			t.Cleanup(func() { harness.Admin(t, "drop role "+user) })
			lookers := []string{h.Looker, user}
			if kind == "owner who chooses the role" {
				lookers = lookers[:1] // who is no member of it cannot begin as it
			}
			for m, looker := range lookers {
				look(t, h, newVisitor(t, fmt.Sprintf("127.0.29.%d", 2*n+m+1)), looker)
			}
		})
	}
}

// look has a visitor see all that there is, and send each form.
func look(t *testing.T, h *harness.Hostile, v *visitor, looker string) {
	t.Helper()
	token := v.mustLogIn(looker, h.Database)
	more := []string{"dead", "dead?selector=true", "dead/preview?kind=purge&selector=true", "operations", "operation?id=1", "audit", "messages?queue=orders&selector=true"}
	for _, path := range append(more, slices.Collect(maps.Values(every))...) {
		if a := v.get(path); a.status != http.StatusForbidden || !h.Found(html.UnescapeString(a.text)) {
			t.Errorf("%s as %s: %d\n%s", path, looker, a.status, a.text)
		}
		h.Check(t, looker+": "+path)
	}
	for path, form := range map[string]url.Values{
		"queue/pause": {"queue": {"orders"}}, "queue/resume": {"queue": {"orders"}}, "dead/begin": {"kind": {"redrive"}, "selector": {"true"}},
		"operation/steer": {"id": {"1"}, "to": {"paused"}}, "work/release": {"id": {"1"}}, "sessions/end": {"session": {"1234567"}},
	} {
		form.Set("token", token)
		if a := v.post(path, form); a.status < http.StatusBadRequest {
			t.Errorf("%s as %s: %d\n%s", path, looker, a.status, a.text)
		}
		h.Check(t, looker+": "+path)
	}
}
