package waiting

import (
	"fmt"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"mbusproxy/integration/internal/harness"
)

// A call waits in all the ways in which a driver may send it, with parameters in binary form, too.
func TestWaitInModes(t *testing.T) {
	t.Parallel()
	database := harness.NewQueueDatabase(t, "q")
	poster := harness.Connect(t, harness.Proxied(), database)
	direct := harness.Connect(t, harness.Direct(), database)
	for _, mode := range []pgx.QueryExecMode{
		pgx.QueryExecModeCacheStatement, pgx.QueryExecModeCacheDescribe, pgx.QueryExecModeDescribeExec, pgx.QueryExecModeExec, pgx.QueryExecModeSimpleProtocol,
	} {
		conn := harness.ConnectPgx(t, harness.Proxied(), database, mode)
		for i, query := range []string{
			"select data->'n' from mbus4.consumen($1, amt => $2, wait => $3)",
			"select payload->>'n' from mbus4.consume_json($1, 'default', $2, $3)",
			"select data->'n' from mbus4.lease($1, amt => $2, lease => $3, wait => $3)",
			"select data->'n' from mbus4.consumen($1, amt => $2, wait => $3)", // prepared in the session by now
		} {
			n := fmt.Sprint(i)
			got := make(chan error, 1)
			go func() {
				var answer string
				err := conn.QueryRow(harness.Context(t), query, "q", int32(2), time.Hour).Scan(&answer)
				if err == nil && answer != n {
					err = fmt.Errorf("got %q, not %q", answer, n)
				}
				got <- err
			}()
			awaitWaiting(t, direct, conn.PgConn())
			harness.Ask(t, poster, "select mbus4.post('q', $1::hstore)", "n=>"+n)
			if err := <-got; err != nil {
				t.Errorf("%s, %s: %v", mode, query, err)
			}
		}
	}
}

// What Describe says of a call does not depend on whether it waits.
func TestWaitDescribed(t *testing.T) {
	t.Parallel()
	database := harness.NewQueueDatabase(t, "q")
	conn := harness.Connect(t, harness.Proxied(), database)
	describe := func(query string) string {
		t.Helper()
		sd, err := conn.Prepare(harness.Context(t), "", query, nil)
		if err != nil {
			t.Fatalf("%s: %s", query, harness.Describe(err))
		}
		return harness.ColumnsText(t, conn, sd.Fields) + " of " + harness.OIDsText(t, conn, sd.ParamOIDs)
	}
	for without, with := range map[string]string{
		"select * from mbus4.consume($1)":                                "select * from mbus4.consume($1, wait => '1h')",
		"select mbus4.consume('q')":                                      "select mbus4.consume('q', wait => '1h')",
		"select * from mbus4.consumen('q', amt => $1)":                   "select * from mbus4.consumen('q', amt => $1, wait => '1h')",
		"select * from mbus4.consume_json('q')":                          "select * from mbus4.consume_json('q', wait => '1h')",
		"select * from mbus4.dyn_consume($1, $2)":                        "select * from mbus4.dyn_consume($1, $2, wait => '1h')",
		"select * from mbus4.lease('q', lease => $1)":                    "select * from mbus4.lease('q', lease => $1, wait => '1h')",
		"select * from mbus4.consume_q_by_default()":                     "select * from mbus4.consume_q_by_default(wait => '1h')",
		"select mbus4.take($1)":                                          "select mbus4.take($1, wait => '1h')",
		"select (mbus4.take_from_q_by_default($1)).*":                    "select (mbus4.take_from_q_by_default($1, wait => '1h')).*",
		"select $2::text, * from mbus4.consume($1)":                      "select $2::text, * from mbus4.consume($1, wait => '1h')",
		"select m.iid from mbus4.consume('q') m join pg_class on true":   "select m.iid from mbus4.consume('q', wait => '1h') m join pg_class on true",
		"select * from mbus4.consume('q', wait => null) m, (select 1) x": "select * from mbus4.consume('q', wait => '1h') m, (select 1) x",
	} {
		if a, b := describe(without), describe(with); a != b {
			t.Errorf("%s: %s, not %s", with, b, a)
		}
	}
	if got := describe("select 1 from mbus4.consume('q', wait => $1)"); got != "?column? integer of interval" {
		t.Error(got)
	}
}
