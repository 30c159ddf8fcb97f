package rewriter

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgproto3"

	"mbusproxy/engine"
	"mbusproxy/proxy/statements"
	"mbusproxy/rewrite/parse"
	"mbusproxy/rewrite/plan"
)

func TestRefusalShowsTheEnginesWords(t *testing.T) {
	t.Parallel()
	got := refusal(&engine.Error{Code: "42501", Message: "no rights", Hint: "ask", Err: fmt.Errorf("doing: %w", &pgconn.PgError{Message: "server said so"})})
	if got.Code != "42501" || got.Message != "no rights" || got.Hint != "ask" || got.Detail != "server said so" {
		t.Errorf("got %+v", got)
	}
	if got := refusal(context.Canceled); got.Code != "57P01" {
		t.Errorf("a session that ends: %+v", got)
	}
}

// TestRefusalTellsNoConfiguration: a client may log in and yet not know where the admin connection goes, and as whom.
func TestRefusalTellsNoConfiguration(t *testing.T) {
	t.Parallel()
	_, err := pgconn.Connect(t.Context(), "host=127.0.0.1 port=1 user=secret_admin dbname=postgres sslmode=disable")
	if err == nil || !strings.Contains(err.Error(), "secret_admin") {
		t.Fatalf("got %v", err)
	}
	lost := &net.OpError{Op: "write", Net: "tcp", Addr: &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 5432}, Err: errors.New("broken pipe")}
	refused := fmt.Errorf("%w: %w", err, &pgconn.PgError{Message: `password authentication failed for user "secret_admin"`})
	for _, cause := range []error{err, lost, refused} {
		got := refusal(&engine.Error{Code: "08001", Message: "m", Hint: "h", Err: cause})
		for _, secret := range []string{"secret_admin", "127.0.0.1", "dial", "refused", "broken"} {
			if strings.Contains(got.Message+got.Detail+got.Hint, secret) {
				t.Errorf("tells %q: %+v", secret, got)
			}
		}
	}
}

func TestEditKeepsWhatIsTheServers(t *testing.T) {
	t.Parallel()
	m := &pgproto3.ErrorResponse{
		Severity: "ERREUR", SeverityUnlocalized: "ERROR", Code: "42P01", Message: "m", Position: 30,
		File: "parse_relation.c", Line: 1, Routine: "r", TableName: "t",
	}
	want := *m
	if edit(m, 0, func(*plan.Report) bool { return false }); m.Position != want.Position || m.Code != want.Code {
		t.Errorf("an edit that says no changed something: %+v", m)
	}
	edit(m, 0, func(r *plan.Report) bool {
		if r.Severity != "ERROR" {
			t.Errorf("severity %q is the localized one", r.Severity)
		}
		r.Position = 7
		return true
	})
	want.Position = 7
	if m.Position != 7 || m.File != want.File || m.TableName != "t" {
		t.Errorf("got %+v", m)
	}
	edit(m, 0, func(r *plan.Report) bool {
		r.Code, r.Message, r.Internal = "42704", "ours", true
		return true
	})
	if m.Code != "42704" || m.Message != "ours" || m.File != "" || m.Line != 0 || m.Routine != "" || m.TableName != "" {
		t.Errorf("our own report bears the server's source: %+v", m)
	}
}

// TestRewriterOnADatabase holds the adapter to the proxy's contract with a real engine behind it.
func TestRewriterOnADatabase(t *testing.T) {
	t.Parallel()
	_, eng := engineOnCluster(t)
	r := New(eng, nil, parse.New(), false)

	sc := statements.Context{User: "postgres", Database: "postgres", Encoding: "UTF8"}
	const call = "select mbus4.post('q', 'a=>1')"
	if !r.Mentions([]byte("select MBUS4.post")) || r.Mentions([]byte("select 1")) {
		t.Error("Mentions is wrong")
	}
	if p := r.Rewrite(t.Context(), sc, "select 'mbus4'"); p != nil {
		t.Errorf("a text without a call became %q", p.SQL())
	}
	p := r.Rewrite(t.Context(), sc, call)
	if p == nil || p.SQL() == call {
		t.Fatalf("a call was left as it is: %v", p)
	}
	sc.Database = "nowhere"
	p = r.Rewrite(t.Context(), sc, call)
	if p == nil {
		t.Fatal("a call in a database that is not there was forwarded")
	}
	if p.EditReport(&pgproto3.ErrorResponse{SeverityUnlocalized: "ERROR", Code: "XX000", Message: "other"}, 0) {
		t.Error("a report of the server's own was edited")
	}
	if r.EditReport("", &pgproto3.ErrorResponse{SeverityUnlocalized: "ERROR", Code: "XX000", Message: "other"}) {
		t.Error("a report of the server's own was edited")
	}
}
