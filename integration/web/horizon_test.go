package web

import (
	"net/http"
	"regexp"
	"strings"
	"testing"

	"mbusproxy/integration/internal/harness"
)

// The page names what pins the horizon, to whoever may see it since when, and how many dead rows a
// consumer has before its first message.
func TestHorizon(t *testing.T) {
	t.Parallel()
	s := newSite(t, "orders", "quiet")
	s.ask(t, "select mbus4.post('orders', hstore('id', i::text)) from generate_series(1, 500) i")
	pin := harness.Connect(t, harness.Direct(), s.database)
	harness.Ask(t, pin, "set application_name = 'nightly report'; begin isolation level repeatable read; select count(*) from mbus4.queue")
	prepared := harness.Connect(t, harness.Direct(), s.database)
	harness.Ask(t, prepared, "begin; create table left_over (); prepare transaction 'forgotten "+s.database+"'")
	defer func() { harness.Ask(t, prepared, "rollback prepared 'forgotten "+s.database+"'") }()
	s.ask(t, "select count(*) from mbus4.consumen('orders', 'default', 300)")
	harness.Admin(t, "grant pg_read_all_stats to "+s.operator)
	user, operator := newVisitor(t, "127.0.0.1"), newVisitor(t, "127.0.0.1")
	user.mustLogIn(s.user, s.database)
	operator.mustLogIn(s.operator, s.database)
	tags := regexp.MustCompile(`<[^>]*>`)
	for v, sees := range map[*visitor]bool{user: false, operator: true} {
		a := v.get("horizon")
		text := tags.ReplaceAllString(a.text, " ")
		if a.status != http.StatusOK || !strings.Contains(text, "nightly report") || !strings.Contains(text, "forgotten "+s.database) || !strings.Contains(text, "prepared transaction") || !strings.Contains(text, "the queues here") {
			t.Errorf("horizon: %d\n%s", a.status, text)
		}
		if strings.Contains(text, "idle in transaction: ") != sees {
			t.Errorf("what the session does is told: %v\n%s", !sees, text)
		}
		if !regexp.MustCompile(`orders\s+default\s+300\s`).MatchString(text) || strings.Contains(text, "quiet") {
			t.Errorf("dead rows by queue:\n%s", text)
		}
	}
}
