package calls

import (
	"fmt"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5/pgconn"

	"mbusproxy/integration/internal/forms"
	"mbusproxy/integration/internal/harness"
)

const (
	semaphoreTasks = `select t.task_id, t.priority, t.status from mbus4.semaphore_task t join mbus4.semaphore s on s.id = t.semaphore_id
		where s.key = $1 order by t.priority desc, t.arrival`
	semaphoreEvents = `select data->'event', data->'task_id' from mbus4.consumen('semaphore_events', $1, 100)`
)

// The four calls in every form of the protocol and every notation.
func TestSemaphoreCalls(t *testing.T) {
	t.Parallel()
	forms.ForEach(t, nil, func(t *testing.T, s *forms.Session) {
		s.Want(t, "1000|900|k", "select active, try_release, key from mbus4.semaphore_get_or_create($1)", "k")
		s.Want(t, "1000|900|k", "select active, try_release, key from mbus4.semaphore_get_or_create(key => $1) s", "k")
		s.Want(t, "(1,k,1000,900)", "select mbus4.semaphore_get_or_create($1)", "k")
		s.Want(t, "k", "select (mbus4.semaphore_get_or_create($1)).key", "k")
		s.Want(t, "", "select mbus4.semaphore_update($1, 2, 1)", "k")
		s.Want(t, "", "select mbus4.semaphore_update(try_release => 0, key := $1, active => 3)", "k")
		s.Want(t, "1|k|3|0", "select * from mbus4.semaphore_get_or_create($1)", "k")
		s.Want(t, "", "select mbus4.semaphore_update($1, 0, 0)", "k")
		s.Want(t, "", "select mbus4.semaphore_enqueue($1, $2, $3)", "k", 7, "1.5")
		s.Want(t, "", "select mbus4.semaphore_enqueue($1, priority => -2, task_id => $2)", "k", "9000000000")
		s.Want(t, "", "select mbus4.semaphore_enqueue($1, 7, $2)", "k", "-3")
		s.Want(t, "9000000000|-2|WAIT\n7|-3|WAIT", semaphoreTasks, "k")
		s.Want(t, "", "select mbus4.semaphore_release($1, $2)", "k", 7)
		s.Want(t, "", "select mbus4.semaphore_release(task_id => 7, key => $1)", "k")
		s.Want(t, "9000000000|-2|WAIT", semaphoreTasks, "k")
	})
}

// Sets: one statement for many semaphores and tasks, each task once.
func TestSemaphoreSets(t *testing.T) {
	t.Parallel()
	conn := harness.Connect(t, harness.Proxied(), harness.NewDatabase(t))
	harness.Want(t, conn, "a\nb\na", "select (mbus4.semaphore_get_or_create(k)).key from unnest(array['a', 'b', 'a']) k")
	harness.Ask(t, conn, "select mbus4.semaphore_update(key, 0, 0) from mbus4.semaphore")
	harness.Want(t, conn, "\n\n\n\n", "select mbus4.semaphore_enqueue(k, n, n % 2) from unnest(array['b', 'a', 'b', 'b', 'b'], array[1, 1, 2, 3, 1]) u (k, n)")
	harness.Want(t, conn, "1|1|WAIT\n3|1|WAIT\n2|0|WAIT", semaphoreTasks, "b")
	harness.Want(t, conn, "1|1|WAIT", semaphoreTasks, "a")
	harness.Ask(t, conn, "select mbus4.semaphore_release('b', task_id) from mbus4.semaphore_task")
	harness.Want(t, conn, "", semaphoreTasks, "b")
	harness.Refused(t, conn, "42704", "select mbus4.semaphore_enqueue(k, 5, 0) from unnest(array['a', 'x']) k")
	harness.Want(t, conn, "1|1|WAIT", semaphoreTasks, "a")
}

// Errors are plain, and at their place.
func TestSemaphoreRefusals(t *testing.T) {
	t.Parallel()
	conn := harness.Connect(t, harness.Proxied(), harness.NewDatabase(t))
	harness.Ask(t, conn, "select mbus4.semaphore_get_or_create('k')")
	for _, c := range []struct{ sql, code, says, hint string }{
		{"select mbus4.semaphore_get_or_create(null)", "22004", "key", ""},
		{"select mbus4.semaphore_get_or_create('')", "22023", "1 to 1000 bytes", ""},
		{"select mbus4.semaphore_get_or_create(repeat('ä', 501))", "22023", "not 1002", ""},
		{"select mbus4.semaphore_get_or_create()", "42883", "", "mbus4.semaphore_get_or_create(key text) returns mbus4.semaphore"},
		{"select mbus4.semaphore_update('k', 1, 2)", "22023", "try_release 2 with active 1", ""},
		{"select mbus4.semaphore_update('k', -1, -1)", "22023", "0 <= try_release <= active", ""},
		{"select mbus4.semaphore_update('k', null, 1)", "22004", `semaphore "k"`, ""},
		{"select mbus4.semaphore_update('x', 1, 1)", "42704", `semaphore "x" does not exist`, "semaphore_get_or_create"},
		{"select mbus4.semaphore_update('k', 'many', 1)", "22P02", "many", ""},
		{"select mbus4.semaphore_enqueue('K', 1, 1)", "42704", `semaphore "K" does not exist`, "semaphore_get_or_create"},
		{"select mbus4.semaphore_enqueue(null, 1, 1)", "22004", "key", ""},
		{"select mbus4.semaphore_enqueue('k', null, 1)", "22004", "task_id", ""},
		{"select mbus4.semaphore_enqueue('k', 1, null)", "22004", "priority", ""},
		{"select mbus4.semaphore_enqueue('k', 1, 'nan')", "22023", "not a number", ""},
		{"select mbus4.semaphore_enqueue('k', 1)", "42883", "", "priority double precision"},
		{"select mbus4.semaphore_release('x', 1)", "42704", `semaphore "x" does not exist`, "semaphore_get_or_create"},
		{"select mbus4.semaphore_release('k', null)", "22004", "task_id", ""},
		{"select mbus4.semaphore_release('k', 1, 2)", "42883", "", "mbus4.semaphore_release(key text, task_id bigint) returns void"},
		{"select mbus4.drop_queue('semaphore_events')", "42809", "cannot be dropped", ""},
	} {
		r := harness.Refusal(t, conn, c.code, "select 1, ("+c.sql+")")
		if !strings.Contains(r.Message, c.says) || !strings.Contains(r.Hint, c.hint) {
			t.Errorf("%s: %s", c.sql, harness.Describe(r))
		}
		if at := strings.Index("select 1, ("+c.sql+")", "mbus4.") + 1; c.code != "22P02" && int(r.Position) != at {
			t.Errorf("%s: at %d, not %d", c.sql, r.Position, at)
		}
	}
	harness.Refused(t, conn, "42704", "prepare p as select mbus4.semaphore_release('x', $1); execute p(1)")
}

// A rollback takes everything back; a commit has the task granted and its event posted.
func TestSemaphoreTransactions(t *testing.T) {
	t.Parallel()
	forms.ForEach(t, nil, func(t *testing.T, s *forms.Session) {
		observer := harness.Connect(t, harness.Proxied(), s.Database)
		harness.Ask(t, observer, "select mbus4.semaphore_get_or_create('k'); select mbus4.semaphore_update('k', 1, 1)")
		s.Want(t, "", "begin")
		s.Want(t, "", "select mbus4.semaphore_enqueue($1, 1, 0)", "k")
		s.Want(t, "", "savepoint s")
		s.Want(t, "", "select mbus4.semaphore_enqueue($1, 2, 9)", "k")
		s.Want(t, "", "rollback to savepoint s")
		harness.Want(t, observer, "", semaphoreTasks, "k")
		s.Want(t, "", "commit")
		awaitRows(t, observer, "select data->'event', data->'task_id' from mbus4.consumen('semaphore_events', 'default', 100)", "Acquired|1")
		s.Want(t, "1|0|ACQUIRED", semaphoreTasks, "k")
		s.Want(t, "", "begin")
		s.Want(t, "", "select mbus4.semaphore_release($1, 1)", "k")
		s.Want(t, "", "rollback")
		s.Want(t, "1|0|ACQUIRED", semaphoreTasks, "k")
		harness.Want(t, observer, "", semaphoreEvents, "default")
	})
}

// What Describe says is what it would say of functions.
func TestSemaphoreShapes(t *testing.T) {
	t.Parallel()
	conn := harness.Connect(t, harness.Proxied(), harness.NewDatabase(t))
	for _, c := range []struct{ sql, columns string }{
		{"select mbus4.semaphore_get_or_create('k')", "semaphore_get_or_create mbus4.semaphore"},
		{"select * from mbus4.semaphore_get_or_create('k')", "id integer, key text, active integer, try_release integer"},
		{"select s from mbus4.semaphore_get_or_create('k') s", "s mbus4.semaphore"},
		{"select (mbus4.semaphore_get_or_create('k')).active", "active integer"},
		{"select mbus4.semaphore_update('k', 1, 1)", "semaphore_update void"},
		{"select mbus4.semaphore_enqueue('k', 1, 1), mbus4.semaphore_release('k', 1)", "semaphore_enqueue void, semaphore_release void"},
		{"select * from mbus4.semaphore_release('k', 1)", "semaphore_release void"},
	} {
		sd, err := conn.Prepare(harness.Context(t), "", c.sql, nil)
		if err != nil {
			t.Fatal(harness.Describe(err))
		}
		if got := harness.ColumnsText(t, conn, sd.Fields); got != c.columns {
			t.Errorf("%s:\n got %s\nwant %s", c.sql, got, c.columns)
		}
	}
	sd, err := conn.Prepare(harness.Context(t), "", "select mbus4.semaphore_enqueue($1, $2, $3), mbus4.semaphore_update($1, $4, $5)", nil)
	if err != nil {
		t.Fatal(harness.Describe(err))
	}
	if got := harness.OIDsText(t, conn, sd.ParamOIDs); got != "text bigint double precision integer integer" {
		t.Errorf("parameters: %s", got)
	}
}

// Members of mbus4_user may do all of it, and cannot give themselves a slot; others are told what to do.
func TestSemaphoreRights(t *testing.T) {
	t.Parallel()
	database := harness.NewDatabase(t)
	harness.Ask(t, harness.Connect(t, harness.Proxied(), database), "select mbus4.semaphore_get_or_create('k')")
	user, other := harness.NewRole(t), harness.NewRole(t)
	harness.Admin(t, "grant mbus4_user to "+user)
	conn := harness.ConnectAs(t, harness.Proxied(), database, user)
	harness.Want(t, conn, "mine", "select key from mbus4.semaphore_get_or_create('mine')")
	harness.Ask(t, conn, "select mbus4.semaphore_update('mine', 1, 0)")
	harness.Ask(t, conn, "select mbus4.semaphore_enqueue('mine', 1, 0), mbus4.semaphore_enqueue('mine', 2, 0)")
	if got := awaitRows(t, conn, semaphoreOne, "ACQUIRED WAIT"); got != "ACQUIRED WAIT" {
		t.Error(got)
	}
	harness.Refused(t, conn, "42501", "update mbus4.semaphore_task set status = 'ACQUIRED'")
	harness.Ask(t, conn, "select mbus4.semaphore_enqueue('mine', 1, 5), mbus4.semaphore_release('mine', 2)")
	if r := harness.Refusal(t, harness.ConnectAs(t, harness.Proxied(), database, other), "42501", "select mbus4.semaphore_enqueue('k', 1, 1)"); !strings.Contains(r.Hint, "mbus4_user") {
		t.Error(harness.Describe(r))
	}
}

// Several calls of a statement arrive in the order in which they stand there.
func TestSemaphoreArrivalInOneStatement(t *testing.T) {
	t.Parallel()
	forms.ForEach(t, nil, func(t *testing.T, s *forms.Session) {
		s.Want(t, "k", "select (mbus4.semaphore_get_or_create('k')).key")
		s.Want(t, "||", "select mbus4.semaphore_enqueue('k', 1, 5), mbus4.semaphore_enqueue('k', 2, 5), mbus4.semaphore_enqueue('k', $1, 5)", 3)
		s.Want(t, "", "select mbus4.semaphore_enqueue('k', 2, 5)")
		s.Want(t, "1,2,3", "select string_agg(task_id::text, ',' order by arrival) from mbus4.semaphore_task")
	})
}

const semaphoreOne = `select string_agg(status::text, ' ' order by arrival) from mbus4.semaphore_task`

// Two proxies, and a client that has neither between it and the server: slots are granted once, whoever
// makes room.
func TestSemaphoreTwoProxies(t *testing.T) {
	t.Parallel()
	second := harness.NewProxy(t)
	database := harness.NewDatabase(t)
	one, two, three := harness.Connect(t, harness.Proxied(), database), harness.Connect(t, second.Endpoint, database), harness.Connect(t, harness.Direct(), database)
	harness.Ask(t, one, "select mbus4.semaphore_get_or_create('k'); select mbus4.semaphore_update('k', 1, 0)")
	harness.Ask(t, two, "select mbus4.create_consumer('semaphore_events', 'app', $$ t.data->'semaphore_key' = 'k' $$)")
	harness.Ask(t, three, "insert into mbus4.semaphore (key) values ('other')")
	for n := range 9 {
		harness.Ask(t, []*pgconn.PgConn{one, two}[n%2], "select mbus4.semaphore_enqueue($1, $2, 0), mbus4.semaphore_enqueue('other', $2, 0)", "k", n)
	}
	for n := range 9 {
		harness.Await(t, two, "select status = 'ACQUIRED' from mbus4.semaphore_task t join mbus4.semaphore s on s.id = t.semaphore_id where s.key = 'k' and t.task_id = $1", n)
		if n%3 == 2 {
			// As a client without a proxy would: directly, with nobody told.
			harness.Ask(t, three, "delete from mbus4.semaphore_task t using mbus4.semaphore s where s.id = t.semaphore_id and s.key = 'k' and t.status = 'ACQUIRED'")
			harness.Ask(t, three, "insert into mbus4.semaphore_change (semaphore_id, tasks) select id, array[$1::bigint] from mbus4.semaphore where key = 'k'", n)
			continue
		}
		harness.Ask(t, []*pgconn.PgConn{two, one}[n%2], "select mbus4.semaphore_release('k', $1)", n)
	}
	var expected []string
	for n := range 9 {
		expected = append(expected, fmt.Sprintf("Acquired|%d", n))
	}
	harness.Want(t, one, strings.Join(expected, "\n"), semaphoreEvents, "app")
}
