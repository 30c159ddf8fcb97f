package wire

import (
	"testing"

	"github.com/jackc/pgx/v5/pgproto3"

	"mbusproxy/integration/internal/frontend"
	"mbusproxy/integration/internal/harness"
)

// Sequences of messages without calls get the same replies direct and through the proxy.
func TestWireOrdinary(t *testing.T) {
	t.Parallel()
	database := harness.NewDatabase(t)
	// Each sequence that fills a table has its own, for all run at once.
	harness.Ask(t, harness.Connect(t, harness.Direct(), database), "create table t (x int); insert into t values (1), (2); create table u (x int); create table v (x int); create table w (x int)")
	sequences := map[string][]pgproto3.FrontendMessage{
		"empty":           {&pgproto3.Query{String: ""}},
		"empty extended":  {frontend.Parse("", ""), frontend.Bind("", ""), frontend.DescribePortal(""), frontend.Execute("", 0), frontend.Sync()},
		"only sync":       {frontend.Sync()},
		"mentions":        {frontend.Parse("", "select 'mbus4', $1::text"), frontend.Bind("", "", "mbus4"), frontend.Execute("", 0), frontend.Sync()},
		"unknown":         {frontend.Bind("", "nosuch"), frontend.Execute("", 0), frontend.Sync()},
		"close unknown":   {&pgproto3.Close{ObjectType: 'S', Name: "nosuch"}, &pgproto3.Close{ObjectType: 'P', Name: "nosuch"}, frontend.Sync()},
		"suspended":       {frontend.Parse("", "select * from generate_series(1, 5)"), frontend.Bind("", ""), frontend.Execute("", 2), frontend.Execute("", 2), frontend.Execute("", 2), frontend.Sync()},
		"copy in refused": {&pgproto3.Query{String: "copy u from stdin"}, &pgproto3.CopyData{Data: []byte("1\n")}, &pgproto3.CopyFail{Message: "no"}},
		"copy in":         {&pgproto3.Query{String: "copy v from stdin"}, &pgproto3.CopyData{Data: []byte("1\n2\n")}, &pgproto3.CopyDone{}},
		"copy in extended": {
			frontend.Parse("", "copy w from stdin"), frontend.Bind("", ""), frontend.Execute("", 0), frontend.Flush(), frontend.Sync(),
			&pgproto3.CopyData{Data: []byte("1\n2\n")}, &pgproto3.CopyDone{}, frontend.Sync(),
		},
		"copy out":      {frontend.Parse("", "copy t to stdout"), frontend.Bind("", ""), frontend.Execute("", 0), frontend.Sync()},
		"error":         {frontend.Parse("a", "select 1/0"), frontend.Bind("", "a"), frontend.Execute("", 0), frontend.Parse("b", "select 1"), frontend.Sync()},
		"after error":   {frontend.DescribeStatement("b"), frontend.Sync()},
		"name taken":    {frontend.Parse("c", "select 1"), frontend.Parse("c", "select 2"), frontend.Sync()},
		"function call": {&pgproto3.FunctionCall{Function: 1317, ArgFormatCodes: []uint16{0}, Arguments: [][]byte{[]byte("four")}}}, // length(text)
	}
	for name, messages := range sequences {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var saw []string
			for _, e := range harness.Both() {
				w := frontend.Connect(t, e, database)
				saw = append(saw, w.Exchange("ReadyForQuery", messages...))
			}
			if saw[0] != saw[1] {
				t.Errorf("direct (-) and through the proxy (+):\n%s", harness.LineDiff(saw[0], saw[1]))
			}
		})
	}
}
