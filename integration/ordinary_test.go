package integration

import (
	"testing"

	"github.com/jackc/pgx/v5/pgproto3"
)

// Sequences of messages without calls get the same replies direct and through the proxy.
func TestWireOrdinary(t *testing.T) {
	t.Parallel()
	database := newDatabase(t)
	// Each sequence that fills a table has its own, for all run at once.
	ask(t, connect(t, direct(), database), "create table t (x int); insert into t values (1), (2); create table u (x int); create table v (x int); create table w (x int)")
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
