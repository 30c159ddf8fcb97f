package integration

import (
	"fmt"
	"testing"

	"github.com/jackc/pgx/v5/pgproto3"
)

// A call's portal is a portal as any other: described, suspended, resumed, closed.
func TestPortals(t *testing.T) {
	t.Parallel()
	database := newQueueDatabase(t, "q")
	conn := connect(t, proxied(), database)
	for n := range 5 {
		ask(t, conn, "select mbus4.post('q', 'a=>1', iid => $1)", fmt.Sprint("m", n))
	}
	w := connectWire(t, proxied(), database)
	w.wantExchange("one portal, resumed", `
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
		parse("", "select iid from mbus4.consumen($1, 'default', $2)"), describeStatement(""), bind("", "", "q", 4),
		describePortal(""), execute("", 1), execute("", 2), execute("", 0), &pgproto3.Close{ObjectType: 'P'}, sync1)
	want(t, conn, "m4", "select iid from mbus4.consumen('q', amt => 9)")

	w.wantExchange("a portal that is bound and never executed", `
		ParseComplete
		BindComplete
		RowDescription post:25:0
		ReadyForQuery I`, "ReadyForQuery",
		parse("post", "select mbus4.post('q', 'a=>1')"), bind("p", "post"), describePortal("p"), sync1)
	want(t, conn, "f", "select mbus4.peek_q()")

	w.wantExchange("two portals of one statement", `
		ParseComplete
		BindComplete
		BindComplete
		DataRow "x"
		CommandComplete SELECT 1
		DataRow "y"
		CommandComplete SELECT 1
		ReadyForQuery I`, "ReadyForQuery",
		parse("two", "select mbus4.post('q', 'a=>1', iid => $1)"), bind("p1", "two", "x"), bind("p2", "two", "y"),
		execute("p1", 0), execute("p2", 0), sync1)
	want(t, conn, "x\ny", "select iid from mbus4.consumen('q', amt => 9)")
}

// An error is sent at once, and what follows is skipped until the Sync.
func TestErrorsAndSync(t *testing.T) {
	t.Parallel()
	database := newQueueDatabase(t, "q")
	w := connectWire(t, proxied(), database)
	refusedCall := "explain create materialized view v as select mbus4.post('q', 'a=>1')"
	w.wantExchange("refused, before any Sync", `
		ParseComplete
		BindComplete
		DataRow "x"
		CommandComplete SELECT 1
		ErrorResponse 0A000 at 46`, "ErrorResponse",
		parse("", "select mbus4.post('q', 'a=>1', iid => 'x')"), bind("", ""), execute("", 0),
		parse("s", refusedCall), describeStatement("s"), flush)
	w.wantExchange("skipped", "ReadyForQuery I", "ReadyForQuery",
		bind("", "s"), execute("", 0), parse("t", "select 1"), parse("u", "select mbus4.peek_q()"), flush, sync1)
	w.wantExchange("none of them was prepared", `
		ErrorResponse 26000 at 0
		ReadyForQuery I`, "ReadyForQuery", bind("", "s"), sync1)
	w.wantExchange("nor those after it", `
		ErrorResponse 26000 at 0
		ReadyForQuery I`, "ReadyForQuery", describeStatement("u"), sync1)
	w.wantExchange("the post went with the error", `
		RowDescription peek_q:16:0
		DataRow "f"
		CommandComplete SELECT 1
		ReadyForQuery I`, "ReadyForQuery", &pgproto3.Query{String: "select mbus4.peek_q()"})
	w.wantExchange("a failing execution", `
		ParseComplete
		BindComplete
		ErrorResponse 42704 at 8
		ReadyForQuery E`, "ReadyForQuery",
		append(simple("begin", w), parse("", "select mbus4.post($1, 'a=>1')"), bind("", "", "nowhere"), execute("", 0),
			parse("", "select 1"), bind("", ""), execute("", 0), sync1)...)
	w.wantExchange("a call in a failed transaction", `
		ErrorResponse 25P02 at 0
		ReadyForQuery E`, "ReadyForQuery", &pgproto3.Query{String: "select mbus4.peek_q()"})
	w.wantExchange("a refusal in a failed transaction", `
		ErrorResponse 25P02 at 0
		ReadyForQuery E`, "ReadyForQuery", &pgproto3.Query{String: refusedCall})
	w.wantExchange("the end", `
		CommandComplete ROLLBACK
		ReadyForQuery I`, "ReadyForQuery", &pgproto3.Query{String: "commit"})
}

// simple runs a statement at once; it returns no message, so that it can begin a list of them.
func simple(sql string, w *wire) []pgproto3.FrontendMessage {
	w.Helper()
	w.exchange("ReadyForQuery", &pgproto3.Query{String: sql})
	return nil
}
