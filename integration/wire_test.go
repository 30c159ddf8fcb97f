package integration

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgproto3"
)

// wire is a session seen as single protocol messages.
type wire struct {
	*testing.T
	frontend *pgproto3.Frontend
	hijacked *pgconn.HijackedConn
}

func connectWire(t *testing.T, e endpoint, database string) *wire {
	t.Helper()
	conn, err := pgconn.Connect(testContext(t), e.dsn(database))
	if err != nil {
		t.Fatal(err)
	}
	hijacked, err := conn.Hijack()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = hijacked.Conn.Close() })
	if err := hijacked.Conn.SetDeadline(time.Now().Add(askLimit)); err != nil {
		t.Fatal(err)
	}
	return &wire{t, hijacked.Frontend, hijacked}
}

// exchange sends the messages and returns the replies as text, up to and with the one that
// contains last.
func (w *wire) exchange(last string, messages ...pgproto3.FrontendMessage) string {
	w.Helper()
	for _, m := range messages {
		w.frontend.Send(m)
	}
	if err := w.frontend.Flush(); err != nil {
		w.Fatal(err)
	}
	var lines []string
	for {
		m, err := w.frontend.Receive()
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

func parse(name, sql string) *pgproto3.Parse { return &pgproto3.Parse{Name: name, Query: sql} }

func bind(portal, name string, args ...any) *pgproto3.Bind {
	return &pgproto3.Bind{DestinationPortal: portal, PreparedStatement: name, Parameters: textParams(args)}
}

func execute(portal string, rows uint32) *pgproto3.Execute {
	return &pgproto3.Execute{Portal: portal, MaxRows: rows}
}

func describeStatement(name string) *pgproto3.Describe {
	return &pgproto3.Describe{ObjectType: 'S', Name: name}
}

func describePortal(name string) *pgproto3.Describe {
	return &pgproto3.Describe{ObjectType: 'P', Name: name}
}

var (
	flush = &pgproto3.Flush{}
	sync1 = &pgproto3.Sync{}
)

// wantExchange compares a whole exchange.
func (w *wire) wantExchange(name, expected, last string, messages ...pgproto3.FrontendMessage) {
	w.Helper()
	expected = strings.ReplaceAll(strings.TrimSpace(expected), "\t", "")
	if got := w.exchange(last, messages...); got != expected {
		w.Errorf("%s:\n%s", name, lineDiff(expected, got))
	}
}

// Sequences of messages without calls get the same replies direct and through the proxy.
func TestWireOrdinary(t *testing.T) {
	t.Parallel()
	database := newDatabase(t)
	// Each sequence that fills a table has its own, for all run at once.
	ask(t, connect(t, direct, database), "create table t (x int); insert into t values (1), (2); create table u (x int); create table v (x int); create table w (x int)")
	sequences := map[string][]pgproto3.FrontendMessage{
		"empty":           {&pgproto3.Query{String: ""}},
		"empty extended":  {parse("", ""), bind("", ""), describePortal(""), execute("", 0), sync1},
		"only sync":       {sync1},
		"mentions":        {parse("", "select 'mbus4', $1::text"), bind("", "", "mbus4"), execute("", 0), sync1},
		"unknown":         {bind("", "nosuch"), execute("", 0), sync1},
		"close unknown":   {&pgproto3.Close{ObjectType: 'S', Name: "nosuch"}, &pgproto3.Close{ObjectType: 'P', Name: "nosuch"}, sync1},
		"suspended":       {parse("", "select * from generate_series(1, 5)"), bind("", ""), execute("", 2), execute("", 2), execute("", 2), sync1},
		"copy in refused": {&pgproto3.Query{String: "copy u from stdin"}, &pgproto3.CopyData{Data: []byte("1\n")}, &pgproto3.CopyFail{Message: "no"}},
		"copy in":         {&pgproto3.Query{String: "copy v from stdin"}, &pgproto3.CopyData{Data: []byte("1\n2\n")}, &pgproto3.CopyDone{}},
		"copy in extended": {
			parse("", "copy w from stdin"), bind("", ""), execute("", 0), flush, sync1,
			&pgproto3.CopyData{Data: []byte("1\n2\n")}, &pgproto3.CopyDone{}, sync1,
		},
		"copy out":      {parse("", "copy t to stdout"), bind("", ""), execute("", 0), sync1},
		"error":         {parse("a", "select 1/0"), bind("", "a"), execute("", 0), parse("b", "select 1"), sync1},
		"after error":   {describeStatement("b"), sync1},
		"name taken":    {parse("c", "select 1"), parse("c", "select 2"), sync1},
		"function call": {&pgproto3.FunctionCall{Function: 1317, ArgFormatCodes: []uint16{0}, Arguments: [][]byte{[]byte("four")}}}, // length(text)
	}
	for name, messages := range sequences {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var saw []string
			for _, e := range both() {
				w := connectWire(t, e, database)
				saw = append(saw, w.exchange("ReadyForQuery", messages...))
			}
			if saw[0] != saw[1] {
				t.Errorf("direct (-) and through the proxy (+):\n%s", lineDiff(saw[0], saw[1]))
			}
		})
	}
}
