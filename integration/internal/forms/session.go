package forms

import (
	"strings"
	"testing"

	"github.com/jackc/pgx/v5/pgconn"

	"mbusproxy/integration/internal/harness"
)

// ForEach runs a test in every form of the protocol, each with a database and the queues.
func ForEach(t *testing.T, queues []string, test func(t *testing.T, s *Session)) {
	ForEachOf(t, All(), queues, test)
}

// ForEachOf is ForEach for some of the forms.
func ForEachOf(t *testing.T, some []Form, queues []string, test func(t *testing.T, s *Session)) {
	for _, f := range some {
		t.Run(f.Name, func(t *testing.T) {
			t.Parallel()
			database := harness.NewQueueDatabase(t, queues...)
			test(t, &Session{f, harness.Connect(t, harness.Proxied(), database), database})
		})
	}
}

// Session is a connection through the proxy that speaks in one form.
type Session struct {
	Form     Form
	Conn     *pgconn.PgConn // through the proxy
	Database string
}

// Want runs one statement in the session's form and compares its rows.
func (s *Session) Want(t *testing.T, expected, sql string, args ...any) {
	t.Helper()
	got, err := s.Form.Run(harness.Context(t), s.Conn, Do(sql, args...))
	if err != nil {
		t.Errorf("%s %v: %s", sql, args, harness.Describe(err))
		return
	}
	if got != expected {
		t.Errorf("%s %v:\n got %q\nwant %q", sql, args, got, expected)
	}
}

// Refused runs one statement in the session's form; it must fail with one of the codes, which
// are separated by blanks.
func (s *Session) Refused(t *testing.T, codes, sql string, args ...any) string {
	t.Helper()
	got, err := s.Form.Run(harness.Context(t), s.Conn, Do(sql, args...))
	if err == nil {
		t.Errorf("%s %v: got %q, want SQLSTATE %s", sql, args, got, codes)
		return ""
	}
	if code := harness.SQLState(err); code == "" || !strings.Contains(codes, code) {
		t.Errorf("%s %v: %s; want SQLSTATE %s", sql, args, harness.Describe(err), codes)
	}
	return harness.Describe(err)
}
