package workqueue

import (
	"fmt"
	"testing"

	"github.com/jackc/pgx/v5/pgconn"

	"mbusproxy/integration/internal/harness"
)

// addMessages adds messages 1 to n with {"n": …} and a table "done" for handlers.
func addMessages(t *testing.T, conn *pgconn.PgConn, n int) {
	t.Helper()
	harness.Ask(t, conn, "create table if not exists done (n int, process int default pg_backend_pid(), at timestamptz default clock_timestamp())")
	harness.Want(t, conn, fmt.Sprint(n), fmt.Sprintf(`select count(id) from (select mbus4.add_message(jsonb_build_object('n', i)) as id from generate_series(1, %d) i) s`, n))
}

// toDone is a handler that writes down which message it got.
const toDone = "insert into done(n) values (($1->>'n')::int)"
