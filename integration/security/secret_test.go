package security

import (
	"regexp"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"

	"mbusproxy/integration/internal/harness"
)

// secretOfSession is what a session's secret looks like: see proxy's secretLen.
var secretOfSession = regexp.MustCompile(`mbus4-error|[A-Z2-7]{16}`)

// However long the texts are that an error quotes, the client gets ours, cut, and nothing of the marker that it came with.
func TestLongNamesShowNoSecret(t *testing.T) {
	t.Parallel()
	database := harness.NewQueueDatabase(t, "q")
	size := 1 << 20
	if harness.Long() {
		size *= 5
	}
	long := strings.Repeat("x", size)
	for _, mode := range []pgx.QueryExecMode{pgx.QueryExecModeSimpleProtocol, pgx.QueryExecModeExec} {
		conn := harness.ConnectPgx(t, harness.Proxied(), database, mode).PgConn()
		for code, sqls := range map[string][]string{
			"42704": {
				"select mbus4.post($1, 'a=>1')", "select mbus4.post($1, 'a=>1', 'h=>1', iid => 'i')",
				"select * from mbus4.consume($1)", "select * from mbus4.lease($1)", "select mbus4.drop_queue($1)", "select mbus4.pause_queue($1)",
				"select mbus4.schedule('s', '@daily', $1)", "select mbus4.drop_consumer($1, 'q')", "select mbus4.create_consumer($1, 'c')", "select * from mbus4.consume('q', $1)",
			},
			"42602": {"select mbus4.create_queue($1, 1)", "select mbus4.create_consumer('q', $1)"},
			"22023": {"select mbus4.schedule($1, '@daily', 'q')"},
		} {
			for _, sql := range sqls {
				_, err := harness.Query(harness.Context(t), conn, sql, long)
				if got := harness.SQLState(err); got != code {
					t.Errorf("%s: SQLSTATE %q, want %s: %.200v", sql, got, code, err)
				}
				if err != nil && (len(err.Error()) > 10_000 || secretOfSession.MatchString(err.Error())) {
					t.Errorf("%s: %d bytes: %.300v", sql, len(err.Error()), err)
				}
			}
		}
	}
}

// A client may give its own statements and portals names such as the proxy's.
func TestNamesLikeTheProxys(t *testing.T) {
	t.Parallel()
	database := harness.NewQueueDatabase(t, "q")
	conn := harness.Connect(t, harness.Proxied(), database)
	ctx := harness.Context(t)
	for _, name := range []string{"_mbus4_", "_mbus4_0", "_mbus4_1", "_mbus4_2", "mbus4_call1", "_mbus4_savepoint"} {
		if _, err := conn.Prepare(ctx, name, "select 'own'", nil); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	for range 5 {
		for _, sql := range []string{"select mbus4.post('q', 'a=>1')", "select data->'a' from mbus4.consume('q')", "select mbus4.run_on_q('select 1')", "select mbus4.is_msg_exists('i')"} {
			if _, err := conn.Exec(ctx, sql).ReadAll(); err != nil {
				t.Errorf("%s: %v", sql, err)
			}
			if _, err := conn.ExecParams(ctx, sql, nil, nil, nil, nil).Close(); err != nil {
				t.Errorf("%s, by the extended protocol: %v", sql, err)
			}
		}
	}
	for _, name := range []string{"_mbus4_", "_mbus4_0", "_mbus4_1", "_mbus4_2", "mbus4_call1"} {
		r := conn.ExecPrepared(ctx, name, nil, nil, nil).Read()
		if r.Err != nil || string(r.Rows[0][0]) != "own" {
			t.Errorf("%s: %v", name, r.Err)
		}
	}
}
