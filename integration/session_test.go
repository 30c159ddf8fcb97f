package integration

import (
	"strings"
	"testing"

	"github.com/jackc/pgx/v5/pgconn"
)

// forEachForm runs a test in every form of the protocol, each with a database and the queues.
func forEachForm(t *testing.T, queues []string, test func(t *testing.T, s *session)) {
	forEachOf(t, forms(), queues, test)
}

// forEachOf is forEachForm for some of the forms.
func forEachOf(t *testing.T, some []form, queues []string, test func(t *testing.T, s *session)) {
	for _, f := range some {
		t.Run(f.name, func(t *testing.T) {
			t.Parallel()
			database := newQueueDatabase(t, queues...)
			test(t, &session{f, connect(t, proxied(), database), database})
		})
	}
}

// session is a connection through the proxy that speaks in one form.
type session struct {
	form     form
	conn     *pgconn.PgConn // through the proxy
	database string
}

// want runs one statement in the session's form and compares its rows.
func (s *session) want(t *testing.T, expected, sql string, args ...any) {
	t.Helper()
	got, err := s.form.run(testContext(t), s.conn, do(sql, args...))
	if err != nil {
		t.Errorf("%s %v: %s", sql, args, describe(err))
		return
	}
	if got != expected {
		t.Errorf("%s %v:\n got %q\nwant %q", sql, args, got, expected)
	}
}

// refused runs one statement in the session's form; it must fail with one of the codes, which
// are separated by blanks.
func (s *session) refused(t *testing.T, codes, sql string, args ...any) string {
	t.Helper()
	got, err := s.form.run(testContext(t), s.conn, do(sql, args...))
	if err == nil {
		t.Errorf("%s %v: got %q, want SQLSTATE %s", sql, args, got, codes)
		return ""
	}
	if code := sqlState(err); code == "" || !strings.Contains(codes, code) {
		t.Errorf("%s %v: %s; want SQLSTATE %s", sql, args, describe(err), codes)
	}
	return describe(err)
}
