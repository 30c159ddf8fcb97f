package web

import (
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"

	"mbusproxy/integration/internal/harness"
)

// Whoever owns a database says in which schemas its sessions look for names first. What the page
// shows and does there, as whatever role, is not his to say.
func TestPageShadowedByTheOwner(t *testing.T) {
	t.Parallel()
	s := newSite(t, "orders")
	furnish(t, s)
	harness.Ask(t, s.direct, harness.Shadow)
	harness.Ask(t, s.direct, "alter database "+s.database+" set search_path = evil, pg_catalog, public")
	v := newVisitor(t, "127.0.0.1")
	token := v.mustLogIn(s.operator, s.database)
	for _, path := range append([]string{"dead", "dead?selector=true", "dead/preview?kind=purge&selector=true", "dead/preview?kind=move", "operations", "audit", "messages?queue=orders&selector=true"}, slices.Collect(maps.Values(every))...) {
		if a := v.get(path); strings.Contains(a.text, "SHADOWED") || a.status >= http.StatusInternalServerError || a.status == http.StatusUnprocessableEntity {
			t.Errorf("%s: %d\n%s", path, a.status, a.text)
		}
	}
	for path, form := range map[string]url.Values{
		"queue/pause": {"queue": {"orders"}}, "queue/resume": {"queue": {"orders"}}, "dead/begin": {"kind": {"redrive"}, "selector": {"true"}},
	} {
		form.Set("token", token)
		if a := v.post(path, form); a.status != http.StatusSeeOther {
			t.Errorf("%s: %d\n%s", path, a.status, a.text)
		}
	}
}
