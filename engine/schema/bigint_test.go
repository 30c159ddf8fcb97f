package schema_test

import (
	"fmt"
	"strings"
	"testing"

	"mbusproxy/engine"
	"mbusproxy/engine/internal/enginetest"
	"mbusproxy/engine/internal/served"
	"mbusproxy/engine/selectors"
)

// beyond is an id that no int holds.
const beyond = int64(1)<<31 + 5

// Everything works with ids of queues and consumers that no int holds.
func TestIDsBeyondInt(t *testing.T) {
	t.Parallel()
	name := enginetest.Installed(t)
	conn := enginetest.Connect(t, name)
	enginetest.Exec(t, conn, fmt.Sprintf("alter sequence mbus4.queue_id_seq restart %d; alter sequence mbus4.consumer_id_seq restart %[1]d", beyond))
	db, err := served.Open(t, engine.Options{SweepInterval: 1}).Database(enginetest.Context(t), name)
	if err != nil {
		t.Fatal(err)
	}
	const selector = "t.data->'n' = '2'"
	if err := db.EnsureSelector(enginetest.Context(t), selectors.Use{Role: "postgres", Text: selector}); err != nil {
		t.Fatal(err)
	}
	want := func(what, sql string, args ...any) {
		t.Helper()
		if got := enginetest.One[string](t, conn, sql, args...); got != what {
			t.Errorf("%s gave %s, want %s", sql, got, what)
		}
	}
	void := func(sql string, args ...any) {
		t.Helper()
		enginetest.Exec(t, conn, sql, args...)
	}
	void("select mbus4.at_create_queue('q', 1, '1'), mbus4.at_create_queue('r', 1, '1')")
	void("select mbus4.at_create_consumer('q', 'c', $1, true, '1')", selector)
	void("select mbus4.at_create_trigger('q', 'r', null, '1')")
	want("true", "select (min(id) >= $1)::text from mbus4.consumer where name <> 'default'", beyond)
	for i := range 3 {
		void("select mbus4.at_post_full('q', hstore('n', $1::int::text), null, null, null, null, $2, '1')", i+1, fmt.Sprint("m", i+1))
	}
	void("select mbus4.at_post('q', 'n=>2', null, null, null, '1')")
	void("select mbus4.at_post_full('q', 'n=>4', 'consume_after=>{m1}', null, null, null, 'm4', '1')")
	want("1", "select count(distinct consumer_id)::text from mbus4.waiting join mbus4.consumer c on c.id = consumer_id and c.id >= $1 and qname = 'q'", beyond)
	want("m2", "select iid from mbus4.at_consume('q', 'c', '1')")
	want("m2", "select iid from mbus4.at_dyn_consume('q', 't.data->''n'' = ''2''', 'default', '1')")
	want("m1 m3", "select string_agg(iid, ' ') from mbus4.at_consumen('q', 'default', 2, '1')")
	want("2", "select (data->'n') from mbus4.at_consume('q', 'default', '1')")
	enginetest.Eventually(t, "the releaser wakes what waited", func() bool {
		return enginetest.One[bool](t, conn, "select exists (select from mbus4.message m join mbus4.consumer c on c.id = m.consumer_id and c.qname = 'q' where m.iid = 'm4' and m.available_at < 'infinity')")
	})
	enginetest.Eventually(t, "a hint rises", func() bool {
		return enginetest.One[bool](t, conn, "select max(last_value) > 0 from pg_sequences where schemaname = 'mbus4' and sequencename ~ '^hint_'")
	})
	want("m4", "select (mbus4.at_take_from('q', 'default', 'm4', '1')).iid")
	void("select mbus4.at_drop_consumer('q', 'c', '1')")
	void("select mbus4.at_drop_queue('r', '1')")
	enginetest.Eventually(t, "what is left of both is swept", func() bool {
		return enginetest.One[bool](t, conn, "select not exists (select from mbus4.message m where not exists (select from mbus4.consumer c where c.id = m.consumer_id))")
	})
	queue := enginetest.One[string](t, conn, "select mbus4.new_temporary_queue()")
	void("select mbus4.at_post($1, 'a=>1', null, null, null, '1')", queue)
	want("1", "select count(*)::text from mbus4.at_consume($1, 'default', '1')", queue)
}

// No column, no parameter and no result is left that holds the id of a queue or a consumer as an int.
func TestNoIDIsInt(t *testing.T) {
	t.Parallel()
	conn := enginetest.Connect(t, enginetest.Installed(t))
	const columns = `select coalesce(string_agg(c.relname || '.' || a.attname, ' '), '')
		from pg_attribute a join pg_class c on c.oid = a.attrelid and c.relnamespace = 'mbus4'::regnamespace and c.relkind = 'r'
		where a.attnum > 0 and a.atttypid in ('int4'::regtype, 'int4[]'::regtype)`
	// What is not such an id: numbers of consumers, hints and batches, processes of clients and of
	// the server, limits of semaphores, columns of the contract.
	for _, left := range strings.Fields(enginetest.One[string](t, conn, columns)) {
		switch left {
		case "schema_version.version", "schema_version.oldest", "selector.version", "selector.major", "selector_slot.slot", "queue.consumers_cnt", "consumer.hint", "consumer.max_attempts", "message.received", "work_queue.process_id", "work_queue.attempts",
			"semaphore.id", "semaphore.active", "semaphore.try_release", "semaphore_task.semaphore_id", "semaphore_change.semaphore_id", "audit.pid", "operation.pid", "operation.batches", "operation_log.batch":
		default:
			t.Errorf("%s is an int", left)
		}
	}
	const functions = `select coalesce(string_agg(oid::regprocedure::text, ', '), '') from pg_proc
		where pronamespace = 'mbus4'::regnamespace and proargnames && array['consumer_id', 'consumers', 'queue_id']
		and (proargtypes::oid[] && array['int4'::regtype::oid, 'int4[]'::regtype] or prorettype in ('int4'::regtype, 'int4[]'::regtype))`
	if left := enginetest.One[string](t, conn, functions); left != "" {
		t.Errorf("functions with ints: %s", left)
	}
}
