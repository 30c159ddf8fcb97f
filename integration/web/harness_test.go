package web

import (
	"fmt"
	"testing"

	"github.com/jackc/pgx/v5/pgconn"

	"mbusproxy/integration/internal/harness"
)

const password = "a 'pass\\word"

// site is a proxy with a page, in front of a database with roles: one that may do everything with queues, one that may use them, one that may nothing, and a
// member of the console's role.
type site struct {
	proxy                           *harness.Proxy
	base                            string
	database                        string
	admin, user, stranger, operator string
	direct                          *pgconn.PgConn // of the owner of everything, past the proxy
	proxied                         *pgconn.PgConn
}

// newSite makes one with queues.
func newSite(t *testing.T, queues ...string) *site {
	t.Helper()
	port, err := harness.FreePort()
	if err != nil {
		t.Fatal(err)
	}
	s := &site{database: harness.NewQueueDatabase(t, queues...)}
	n := s.database
	s.admin, s.user, s.stranger, s.operator = n+"_admin", n+"_user", n+"_stranger", n+"_operator"
	console := n + "_console"
	for _, r := range []string{s.admin + " login in role mbus4_admin", s.user + " login in role mbus4_user", s.stranger + " login", console, s.operator + " login in role mbus4_admin, " + console} {
		harness.Admin(t, "create role "+r+" password 'a ''pass\\word'")
	}
	t.Cleanup(func() {
		for _, r := range []string{s.admin, s.user, s.stranger, s.operator, console} {
			harness.Admin(t, "drop role "+r)
		}
	})
	s.proxy = harness.NewProxy(t, "--http", fmt.Sprintf("127.0.0.1:%d", port), "--console-role", console)
	s.base = fmt.Sprintf("http://127.0.0.1:%d/page/", port)
	s.direct = harness.Connect(t, harness.Direct(), s.database)
	s.proxied = harness.Connect(t, s.proxy.Endpoint, s.database)
	return s
}

// ask runs a statement as the owner, through the proxy.
func (s *site) ask(t *testing.T, sql string, args ...any) string {
	t.Helper()
	return harness.Ask(t, s.proxied, sql, args...)
}
