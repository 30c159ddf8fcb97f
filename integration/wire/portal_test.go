package wire

import (
	"fmt"
	"testing"

	"github.com/jackc/pgx/v5/pgproto3"

	"mbusproxy/integration/internal/frontend"
	"mbusproxy/integration/internal/harness"
)

// A call's portal is a portal as any other: described, suspended, resumed, closed.
func TestPortals(t *testing.T) {
	t.Parallel()
	database := harness.NewQueueDatabase(t, "q")
	conn := harness.Connect(t, harness.Proxied(), database)
	for n := range 5 {
		harness.Ask(t, conn, "select mbus4.post('q', 'a=>1', iid => $1)", fmt.Sprint("m", n))
	}
	w := frontend.Connect(t, harness.Proxied(), database)
	w.WantExchange("one portal, resumed", `
		ParseComplete
		ParameterDescription [25 23]
		RowDescription iid:25:0
		BindComplete
		RowDescription iid:25:0
		DataRow "m0"
		PortalSuspended
		DataRow "m1"
		DataRow "m2"
		PortalSuspended
		DataRow "m3"
		CommandComplete SELECT 1
		CloseComplete
		ReadyForQuery I`, "ReadyForQuery",
		frontend.Parse("", "select iid from mbus4.consumen($1, 'default', $2)"), frontend.DescribeStatement(""), frontend.Bind("", "", "q", 4),
		frontend.DescribePortal(""), frontend.Execute("", 1), frontend.Execute("", 2), frontend.Execute("", 0), &pgproto3.Close{ObjectType: 'P'}, frontend.Sync())
	harness.Want(t, conn, "m4", "select iid from mbus4.consumen('q', amt => 9)")

	w.WantExchange("a portal that is bound and never executed", `
		ParseComplete
		BindComplete
		RowDescription post:25:0
		ReadyForQuery I`, "ReadyForQuery",
		frontend.Parse("post", "select mbus4.post('q', 'a=>1')"), frontend.Bind("p", "post"), frontend.DescribePortal("p"), frontend.Sync())
	harness.Want(t, conn, "f", "select mbus4.peek_q()")

	w.WantExchange("two portals of one statement", `
		ParseComplete
		BindComplete
		BindComplete
		DataRow "x"
		CommandComplete SELECT 1
		DataRow "y"
		CommandComplete SELECT 1
		ReadyForQuery I`, "ReadyForQuery",
		frontend.Parse("two", "select mbus4.post('q', 'a=>1', iid => $1)"), frontend.Bind("p1", "two", "x"), frontend.Bind("p2", "two", "y"),
		frontend.Execute("p1", 0), frontend.Execute("p2", 0), frontend.Sync())
	harness.Want(t, conn, "x\ny", "select iid from mbus4.consumen('q', amt => 9)")
}

// An error is sent at once, and what follows is skipped until the Sync.
func TestErrorsAndSync(t *testing.T) {
	t.Parallel()
	database := harness.NewQueueDatabase(t, "q")
	w := frontend.Connect(t, harness.Proxied(), database)
	refusedCall := "explain create materialized view v as select mbus4.post('q', 'a=>1')"
	w.WantExchange("refused, before any Sync", `
		ParseComplete
		BindComplete
		DataRow "x"
		CommandComplete SELECT 1
		ErrorResponse 0A000 at 46`, "ErrorResponse",
		frontend.Parse("", "select mbus4.post('q', 'a=>1', iid => 'x')"), frontend.Bind("", ""), frontend.Execute("", 0),
		frontend.Parse("s", refusedCall), frontend.DescribeStatement("s"), frontend.Flush())
	w.WantExchange("skipped", "ReadyForQuery I", "ReadyForQuery",
		frontend.Bind("", "s"), frontend.Execute("", 0), frontend.Parse("t", "select 1"), frontend.Parse("u", "select mbus4.peek_q()"), frontend.Flush(), frontend.Sync())
	w.WantExchange("none of them was prepared", `
		ErrorResponse 26000 at 0
		ReadyForQuery I`, "ReadyForQuery", frontend.Bind("", "s"), frontend.Sync())
	w.WantExchange("nor those after it", `
		ErrorResponse 26000 at 0
		ReadyForQuery I`, "ReadyForQuery", frontend.DescribeStatement("u"), frontend.Sync())
	w.WantExchange("the post went with the error", `
		RowDescription peek_q:16:0
		DataRow "f"
		CommandComplete SELECT 1
		ReadyForQuery I`, "ReadyForQuery", &pgproto3.Query{String: "select mbus4.peek_q()"})
	w.WantExchange("a failing execution", `
		ParseComplete
		BindComplete
		ErrorResponse 42704 at 8
		ReadyForQuery E`, "ReadyForQuery",
		append(simple("begin", w), frontend.Parse("", "select mbus4.post($1, 'a=>1')"), frontend.Bind("", "", "nowhere"), frontend.Execute("", 0),
			frontend.Parse("", "select 1"), frontend.Bind("", ""), frontend.Execute("", 0), frontend.Sync())...)
	w.WantExchange("a call in a failed transaction", `
		ErrorResponse 25P02 at 0
		ReadyForQuery E`, "ReadyForQuery", &pgproto3.Query{String: "select mbus4.peek_q()"})
	w.WantExchange("a refusal in a failed transaction", `
		ErrorResponse 25P02 at 0
		ReadyForQuery E`, "ReadyForQuery", &pgproto3.Query{String: refusedCall})
	w.WantExchange("the end", `
		CommandComplete ROLLBACK
		ReadyForQuery I`, "ReadyForQuery", &pgproto3.Query{String: "commit"})
}

// simple runs a statement at once; it returns no message, so that it can begin a list of them.
func simple(sql string, w *frontend.Session) []pgproto3.FrontendMessage {
	w.Helper()
	w.Exchange("ReadyForQuery", &pgproto3.Query{String: sql})
	return nil
}
