package frontend

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgproto3"

	"mbusproxy/integration/internal/harness"
)

// Session is a session seen as single protocol messages.
type Session struct {
	*testing.T
	Frontend *pgproto3.Frontend
	Hijacked *pgconn.HijackedConn
}

// Connect opens a session that is closed with the test; no reply may take longer than harness.AskLimit.
func Connect(t *testing.T, e harness.Endpoint, database string) *Session {
	t.Helper()
	conn, err := pgconn.Connect(harness.Context(t), e.DSN(database))
	if err != nil {
		t.Fatal(err)
	}
	if err := conn.SyncConn(harness.Context(t)); err != nil { // else pgconn may still be reading, and take what comes next
		t.Fatal(err)
	}
	hijacked, err := conn.Hijack()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = hijacked.Conn.Close() })
	if err := hijacked.Conn.SetDeadline(time.Now().Add(harness.AskLimit)); err != nil {
		t.Fatal(err)
	}
	return &Session{t, hijacked.Frontend, hijacked}
}

// Exchange sends the messages and returns the replies as text, up to and with the one that
// contains last.
func (w *Session) Exchange(last string, messages ...pgproto3.FrontendMessage) string {
	w.Helper()
	for _, m := range messages {
		w.Frontend.Send(m)
	}
	if err := w.Frontend.Flush(); err != nil {
		w.Fatal(err)
	}
	var lines []string
	for {
		m, err := w.Frontend.Receive()
		if err != nil {
			w.Fatalf("after\n%s\n%v", strings.Join(lines, "\n"), err)
		}
		lines = append(lines, replyText(m))
		if strings.HasPrefix(lines[len(lines)-1], last) {
			return strings.Join(lines, "\n")
		}
	}
}

// replyText is one line for a reply.
func replyText(m pgproto3.BackendMessage) string {
	switch m := m.(type) {
	case *pgproto3.ErrorResponse:
		return fmt.Sprintf("ErrorResponse %s at %d", m.Code, m.Position)
	case *pgproto3.NoticeResponse:
		return "NoticeResponse " + m.Code
	case *pgproto3.ReadyForQuery:
		return "ReadyForQuery " + string(m.TxStatus)
	case *pgproto3.CommandComplete:
		return "CommandComplete " + string(m.CommandTag)
	case *pgproto3.ParameterDescription:
		return fmt.Sprint("ParameterDescription ", m.ParameterOIDs)
	case *pgproto3.RowDescription:
		text := "RowDescription"
		for _, f := range m.Fields {
			text += fmt.Sprintf(" %s:%d:%d", f.Name, f.DataTypeOID, f.Format)
		}
		return text
	case *pgproto3.DataRow:
		text := "DataRow"
		for _, v := range m.Values {
			text += fmt.Sprintf(" %q", v)
		}
		return text
	}
	return strings.TrimPrefix(fmt.Sprintf("%T", m), "*pgproto3.")
}

// WantExchange compares a whole exchange.
func (w *Session) WantExchange(name, expected, last string, messages ...pgproto3.FrontendMessage) {
	w.Helper()
	expected = strings.ReplaceAll(strings.TrimSpace(expected), "\t", "")
	if got := w.Exchange(last, messages...); got != expected {
		w.Errorf("%s:\n%s", name, harness.LineDiff(expected, got))
	}
}
