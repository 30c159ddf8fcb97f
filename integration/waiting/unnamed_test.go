package waiting

import (
	"testing"

	"github.com/jackc/pgx/v5/pgproto3"

	"mbusproxy/integration/internal/frontend"
	"mbusproxy/integration/internal/harness"
)

// A Query whose look for a message fails has taken the unnamed statement away, as any Query does.
func TestWaitThatFailsLeavesNoStatement(t *testing.T) {
	t.Parallel()
	w := frontend.Connect(t, harness.Proxied(), harness.NewQueueDatabase(t, "q"))
	w.Exchange("ReadyForQuery", &pgproto3.Query{String: "set role " + harness.NewRole(t)})
	for block, left := range map[string]string{"select 1": "I", "begin": "E"} {
		w.Exchange("ReadyForQuery", &pgproto3.Query{String: block})
		w.Exchange("ReadyForQuery", frontend.Parse("", "select 5"), frontend.Sync())
		w.WantExchange("the look fails", "ErrorResponse 42501 at 17\nReadyForQuery "+left, "ReadyForQuery",
			&pgproto3.Query{String: "select iid from mbus4.consume('q', wait => '1h')"})
		w.WantExchange("the statement is gone", "ErrorResponse 26000 at 0\nReadyForQuery "+left, "ReadyForQuery", frontend.DescribeStatement(""), frontend.Sync())
		w.WantExchange("there is no portal", "ErrorResponse 34000 at 0\nReadyForQuery "+left, "ReadyForQuery", frontend.DescribePortal(""), frontend.Sync())
		w.Exchange("ReadyForQuery", &pgproto3.Query{String: "rollback"})
	}
}
