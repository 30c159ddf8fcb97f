package selectors_test

import (
	"fmt"
	"testing"

	"mbusproxy/engine/internal/enginetest"
	"mbusproxy/engine/selectors"
)

// Errors are counted for each consumer, by posts that are rolled back as well, and fail nobody.
func TestSelectorErrorsAreCounted(t *testing.T) {
	t.Parallel()
	name := enginetest.Installed(t)
	conn := enginetest.Connect(t, name)
	enginetest.Exec(t, conn, called("create_queue", "'q', 1"))
	general(t, conn, "fails", "case when t.data is null then 1 else -1 end", true)
	general(t, conn, "holds", "1", false)
	for consumer, text := range map[string]string{"a": "fails", "b": "fails", "h": "holds"} {
		enginetest.Exec(t, conn, called("create_consumer", fmt.Sprintf("'q', '%s', '%s', false", consumer, text)))
	}
	const counts = `select string_agg(concat_ws(' ', consumer, errors, last_message_id), ', ' order by consumer) from mbus4.selector_errors`
	post := func() int64 {
		t.Helper()
		enginetest.Exec(t, conn, `select mbus4.at_post('q', 'a=>1', null, null, null, '1')`)
		return enginetest.One[int64](t, conn, `select last_value from mbus4.post_id`)
	}
	post() // nobody counts yet, and nothing fails
	if err := selectors.AssignSlots(enginetest.Context(t), conn); err != nil {
		t.Fatal(err)
	}
	if got := enginetest.One[string](t, conn, counts); got != "a 0, b 0, h" {
		t.Errorf("got %s", got)
	}
	post()
	enginetest.Exec(t, conn, "begin")
	last := post()
	enginetest.Exec(t, conn, "rollback")
	if got, want := enginetest.One[string](t, conn, counts), fmt.Sprintf("a 2 %d, b 2 %[1]d, h", last); got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	if n := enginetest.One[int](t, conn, `select count(*) from mbus4.message m join mbus4.consumer c on c.id = m.consumer_id where c.name in ('default', 'h')`); n != 4 {
		t.Errorf("%d messages for those without errors, want 2 each", n)
	}
	// Another consumer takes the place of one that is gone, and begins with none.
	enginetest.Exec(t, conn, called("drop_consumer", "'q', 'a'"))
	enginetest.Exec(t, conn, called("create_consumer", "'q', 'z', 'fails', false"))
	if err := selectors.AssignSlots(enginetest.Context(t), conn); err != nil {
		t.Fatal(err)
	}
	last = post()
	if got, want := enginetest.One[string](t, conn, counts), fmt.Sprintf("b 3 %d, h, z 1 %[1]d", last); got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	if n := enginetest.One[int](t, conn, `select count(*) from pg_class where relname like 'selector\_errors\__'`); n != 2 {
		t.Errorf("%d sequences", n)
	}
}

// The places where errors are counted have a bound; beyond it nothing fails.
func TestSelectorSlotsBound(t *testing.T) {
	t.Parallel()
	name := enginetest.Installed(t)
	conn := enginetest.Connect(t, name)
	general(t, conn, "fails", "-1", true)
	enginetest.Exec(t, conn, `insert into mbus4.selector_slot (slot, consumer_id, base) select n, null, 0 from generate_series(0, $1::int) n`, selectors.MaxSlots-1)
	enginetest.Exec(t, conn, `insert into mbus4.consumer (queue_id, qname, name, selector, selector_id)
		select q.id, q.qname, 'c' || n, 'fails', $1 from mbus4.queue q, generate_series(0, $2::int) n where q.qname = 'dmq'`, selectors.RowID("fails"), selectors.MaxSlots)
	enginetest.Exec(t, conn, `do $$ begin for n in 0..`+fmt.Sprint(selectors.MaxSlots-1)+` loop
		execute 'create sequence mbus4.selector_errors_' || n; execute 'create sequence mbus4.selector_message_' || n; end loop; end $$`)
	for range 2 {
		if err := selectors.AssignSlots(enginetest.Context(t), conn); err != nil {
			t.Fatal(err)
		}
	}
	if n := enginetest.One[int](t, conn, `select count(consumer_id) from mbus4.selector_slot`); n != selectors.MaxSlots {
		t.Errorf("%d places", n)
	}
	enginetest.Exec(t, conn, `select mbus4.at_post('dmq', 'a=>1', null, null, null, '1')`)
	if n := enginetest.One[int](t, conn, `select count(*) from mbus4.selector_errors where errors = 1`); n != selectors.MaxSlots {
		t.Errorf("%d consumers with an error", n)
	}
}
