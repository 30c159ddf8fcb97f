package ops

import (
	"fmt"
	"slices"
	"testing"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgproto3"

	"mbusproxy/integration/internal/harness"
)

// watched looks at one session through the console.
type watched struct {
	t     *testing.T
	admin *pgconn.PgConn
	other *pgconn.PgConn // another session of the proxy
	pid   string
}

func (w watched) row() map[string]string {
	w.t.Helper()
	sessions := shown(w.t, w.admin, "show sessions")
	i := slices.IndexFunc(sessions, func(s map[string]string) bool { return s["server_pid"] == w.pid })
	if i < 0 {
		w.t.Fatalf("no session of process %s: %v", w.pid, sessions)
	}
	return sessions[i]
}

// want looks until the session has this call and holds that many messages: what it is known by is
// noted while the replies go to the client.
func (w watched) want(state, call, held string) {
	w.t.Helper()
	harness.Eventually(w.t, func() string {
		got := w.row()
		if got["state"] == state && got["current_call"] == call && got["messages_held"] == held {
			return ""
		}
		return fmt.Sprintf("%s, %q, %q held; not %s, %q, %q", got["state"], got["current_call"], got["messages_held"], state, call, held)
	})
}

// watch opens the console and a session that it watches.
func watch(t *testing.T, flags []string, queues ...string) (w watched, one *pgconn.PgConn, database string) {
	t.Helper()
	roles := newConsoleRoles(t)
	proxy := harness.NewProxy(t, append([]string{"--console-role", roles.role}, flags...)...)
	database = harness.NewQueueDatabase(t, queues...)
	one = harness.Connect(t, proxy.Endpoint, database)
	return watched{t, toConsole(t, proxy.Endpoint, roles.admin, "mbusproxy/"+database), harness.Connect(t, proxy.Endpoint, database), fmt.Sprint(one.PID())}, one, database
}

const idleIn = "idle in transaction"

// What a session holds is what its transaction has taken, also after savepoints and errors.
func TestConsoleMessagesHeld(t *testing.T) {
	t.Parallel()
	for name, flags := range map[string][]string{"prepared": nil, "not prepared": {"--no-prepare"}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			holds(t, flags)
		})
	}
}

func holds(t *testing.T, flags []string) {
	w, one, _ := watch(t, flags, "q")
	do := func(sql string) {
		t.Helper()
		if _, err := one.Exec(harness.Context(t), sql).ReadAll(); err != nil && harness.SQLState(err) != "22012" {
			t.Fatalf("%s: %v", sql, err)
		}
	}
	const three, two = "select iid from mbus4.consumen('q', amt => 3)", "select * from mbus4.consumen('q', amt => 2)"
	do("select mbus4.post('q', hstore('a', i::text)) from generate_series(1, 60) i")
	w.want("idle", "", "0")
	for _, step := range []struct{ sql, state, call, held string }{
		{three, "idle", "", "0"}, // committed
		{"begin", idleIn, "", "0"},
		{three, idleIn, "consumen('q')", "3"},
		{"select mbus4.post('q', 'a=>new')", idleIn, "post('q')", "3"},
		{"select 1", idleIn, "", "3"},
		{"savepoint a", idleIn, "", "3"},
		{two, idleIn, "consumen('q')", "5"},
		{"savepoint b", idleIn, "", "5"},
		{two, idleIn, "consumen('q')", "7"},
		{"rollback to b", idleIn, "", "5"},
		{two, idleIn, "consumen('q')", "7"},
		{"release b", idleIn, "", "7"},
		{"rollback to a", idleIn, "", "3"},
		{two, idleIn, "consumen('q')", "5"},
		{"select 1 / 0", "idle in transaction (aborted)", "", "3"},
		{"rollback to savepoint a", idleIn, "", "3"},
		{"select * from mbus4.lease('q', amt => 4)", idleIn, "lease('q')", "7"},
		{"rollback", "idle", "", "0"},
		{"begin; savepoint before", idleIn, "", "0"},
		{three, idleIn, "consumen('q')", "3"},
		{"rollback to before", idleIn, "", "0"},
		{two, idleIn, "consumen('q')", "2"},
		{"select 1 / 0", "idle in transaction (aborted)", "", "0"},
		{"rollback", "idle", "", "0"},
		// What another statement does with the rows of the call its reply does not tell.
		{"begin", idleIn, "", "0"},
		{"select count(*) from mbus4.consumen('q', amt => 3)", idleIn, "consumen('q')", ""},
		{three, idleIn, "consumen('q')", ""},
		{"commit", "idle", "", "0"},
		{"begin", idleIn, "", "0"},
		{three, idleIn, "consumen('q')", "3"},
		{"commit and chain", idleIn, "", "0"},
		{"select * from mbus4.take('none')", idleIn, "take", ""}, // a row of nulls
		{"commit", "idle", "", "0"},
	} {
		if do(step.sql); t.Failed() {
			return
		}
		w.want(step.state, step.call, step.held)
		if t.Failed() {
			t.Fatalf("after %s", step.sql)
		}
	}
}

// A call that the server runs, or that waits, is shown while it does; in the extended protocol,
// too, where the statement was prepared long before.
func TestConsoleCurrentCall(t *testing.T) {
	t.Parallel()
	w, one, database := watch(t, nil, "q", "full", "empty")
	two := harness.Connect(t, harness.Direct(), database)
	// It hangs in a call: on the lock of a table.
	hangs := func(call string, run func() error) {
		t.Helper()
		harness.Ask(t, two, "begin; lock table mbus4.message in access exclusive mode")
		ended := make(chan error, 1)
		go func() { ended <- run() }()
		w.want("active", call, "0")
		harness.Ask(t, two, "commit")
		if err := <-ended; err != nil {
			t.Errorf("%s: %v", call, err)
		}
		w.want("idle", "", "0")
	}
	exec := func(sql string) func() error {
		return func() error { _, err := one.Exec(t.Context(), sql).ReadAll(); return err }
	}
	harness.Ask(t, w.other, "select mbus4.create_consumer('q', 'audit')")
	const consume = "select * from mbus4.consume('q')"
	hangs("consume('q')", exec(consume))
	for range 3 { // by a statement that the proxy prepares, from the third time on
		hangs("consume('q')", exec(consume))
	}
	hangs("post('q'), consume('q', 'audit')", exec("select mbus4.post('q', 'a=>1') where exists (select from mbus4.consume('q', 'audit')) or true"))
	hangs("post('q'), post('full'), post('q'), …", exec("select mbus4.post('q', 'a=>1'), mbus4.post('full', 'a=>1'), mbus4.post('q', 'b=>1'), mbus4.post('q', 'c=>1')"))
	hangs("consume_q_by_default", exec("select * from mbus4.consume_q_by_default()"))
	hangs("post('…')", exec("select mbus4.post(E'q\\u202e', 'a=>1') where false"))
	params := func(sql string, values ...string) func() error {
		return func() error {
			var args [][]byte
			for _, v := range values {
				args = append(args, []byte(v))
			}
			return one.ExecParams(t.Context(), sql, args, nil, nil, nil).Read().Err
		}
	}
	hangs("consume($1)", params("select * from mbus4.consume($1)", "q"))
	if _, err := one.Prepare(t.Context(), "s", "select * from mbus4.consumen($1, amt => 2)", nil); err != nil {
		t.Fatal(err)
	}
	if err := params("select 1")(); err != nil {
		t.Fatal(err)
	}
	w.want("idle", "", "0")
	hangs("consumen($1)", func() error {
		return one.ExecPrepared(t.Context(), "s", [][]byte{[]byte("q")}, nil, nil).Read().Err
	})
	// One after another without a word between: the first that has not been answered.
	hangs("consumen($1)", func() error {
		one.Frontend().Send(&pgproto3.Bind{PreparedStatement: "s", Parameters: [][]byte{[]byte("q")}})
		one.Frontend().Send(&pgproto3.Execute{})
		one.Frontend().Send(&pgproto3.Parse{Query: "select 2"})
		one.Frontend().Send(&pgproto3.Bind{})
		one.Frontend().Send(&pgproto3.Execute{})
		one.Frontend().Send(&pgproto3.Sync{})
		if err := one.Frontend().Flush(); err != nil {
			return err
		}
		for {
			m, err := one.ReceiveMessage(t.Context())
			if err != nil {
				return err
			}
			if _, ready := m.(*pgproto3.ReadyForQuery); ready {
				return nil
			}
		}
	})

	// Those that wait.
	for _, run := range []func() error{
		exec("select * from mbus4.consume('empty', wait => '1 min')"),
		params("select * from mbus4.consume($1, wait => '1 min')", "empty"),
	} {
		ended := make(chan error, 1)
		go func() { ended <- run() }()
		harness.Eventually(t, func() string {
			if state := w.row()["state"]; state != "waiting" {
				return "the session is " + state
			}
			return ""
		})
		if call := w.row()["current_call"]; call != "consume('empty')" && call != "consume($1)" {
			t.Errorf("%q waits", call)
		}
		harness.Ask(t, w.other, "select mbus4.post('empty', 'a=>1')")
		if err := <-ended; err != nil {
			t.Error(err)
		}
		w.want("idle", "", "0")
	}

	// Nothing else of a text is shown.
	hangs("", exec("select 'mbus4.consume', count(*) from mbus4.message"))
	hangs("", params("select $1::text, count(*) from mbus4.message", "mbus4.consume('q')"))
}
