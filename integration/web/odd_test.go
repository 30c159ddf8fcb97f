package web

import (
	"net/http"
	"net/url"
	"strings"
	"testing"

	"mbusproxy/integration/internal/harness"
)

// What an address or a form has that makes no sense is answered by a page that says so: nothing
// that is typed makes the page fail.
func TestOddValues(t *testing.T) {
	t.Parallel()
	s := newSite(t, "orders")
	furnish(t, s)
	v := newVisitor(t, "127.0.0.1")
	token := v.mustLogIn(s.operator, s.database)
	values := []string{"0", "-1", strings.Repeat("9", 30), "\x00", "\xff\xfe", "\u202e", strings.Repeat("a", 3000), `'"<>\`, "%", "infinity", "-infinity|1", "NaN", "294277-01-01T00:00", "now|1", "1.1", "9223372036854775807.9223372036854775807", "((((", "$1", "\r\nX: y", "{}", "2026-01-31T12:00:00|1"}
	turn := 0
	tried := func() (some []string) { // for the next field: a third, and in another run, since maps have no order, another one
		turn++
		for i, value := range values {
			if (i+turn)%3 == 0 || harness.Long() {
				some = append(some, value)
			}
		}
		return some
	}
	check := func(what string, a answer) {
		if a.status >= http.StatusInternalServerError || a.status == http.StatusSeeOther && strings.HasPrefix(a.header.Get("Location"), "/page/login") || a.header.Get("X") != "" {
			t.Errorf("%s: %d\n%s", what, a.status, a.text)
		}
	}
	for path, fields := range map[string]string{
		"": "filter", "queue": "name", "messages": "queue consumer state iid column key value selector at", "message": "iid", "dead": "queue consumer selector since until after",
		"dead/preview": "queue consumer selector since until target targetconsumer kind", "operations": "before", "operation": "id", "audit": "before after", "work": "state after id", "semaphores": "after",
		"semaphore": "key", "sessions": "x", "horizon": "x", "live": "at",
	} {
		for field := range strings.FieldsSeq(fields) {
			for _, value := range tried() {
				q := url.Values{"queue": {"orders"}, "kind": {"move"}, "column": {"data"}, "key": {"customer"}}
				q.Set(field, value)
				check(path+"?"+q.Encode(), v.get(path+"?"+q.Encode()))
			}
		}
	}
	for path, fields := range map[string]string{
		"dead/begin": "kind queue consumer selector since until target targetconsumer", "operation/steer": "id do", "queue/pause": "queue consumer", "sessions/end": "session", "work/release": "process id",
	} {
		for field := range strings.FieldsSeq(fields) {
			for _, value := range tried() {
				form := url.Values{"token": {token}, "kind": {"move"}, "queue": {"orders"}, "target": {"nowhere"}, "do": {"pause"}}
				form.Set(field, value)
				check(path+" "+form.Encode(), v.post(path, form))
			}
		}
	}
	if a := v.get("messages?iid=second"); a.status != http.StatusOK {
		t.Errorf("a field that the page of messages does not have: %d", a.status)
	}
}
