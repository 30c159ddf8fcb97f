package web

import (
	"sync"
	"testing"

	"github.com/jackc/pgx/v5/pgconn"

	"mbusproxy/integration/internal/harness"
)

const password = "a 'pass\\word"

// site is a database behind the room's proxy, with roles: one that may do everything with queues,
// one that may use them, one that may nothing, and a member of the console's role.
type site struct {
	database                        string
	admin, user, stranger, operator string
	direct                          *pgconn.PgConn // of the owner of everything, past the proxy
	proxied                         *pgconn.PgConn
}

// makeConsoleRole makes the console's role, once.
var makeConsoleRole sync.Once

// newSite makes one with queues.
func newSite(t *testing.T, queues ...string) *site {
	t.Helper()
	makeConsoleRole.Do(func() { harness.Admin(t, "create role "+consoleRole) })
	s := &site{database: harness.NewQueueDatabase(t, queues...)}
	n := s.database
	s.admin, s.user, s.stranger, s.operator = n+"_admin", n+"_user", n+"_stranger", n+"_operator"
	for _, r := range []string{s.admin + " login in role mbus4_admin", s.user + " login in role mbus4_user", s.stranger + " login", s.operator + " login in role mbus4_admin, " + consoleRole} {
		harness.Admin(t, "create role "+r+" password 'a ''pass\\word'")
	}
	t.Cleanup(func() {
		for _, r := range []string{s.admin, s.user, s.stranger, s.operator} {
			harness.Admin(t, "drop role "+r)
		}
	})
	s.direct = harness.Connect(t, harness.Direct(), s.database)
	s.proxied = harness.Connect(t, harness.Proxied(), s.database)
	return s
}

// ask runs a statement as the owner, through the proxy.
func (s *site) ask(t *testing.T, sql string, args ...any) string {
	t.Helper()
	return harness.Ask(t, s.proxied, sql, args...)
}
