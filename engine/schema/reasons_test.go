package schema_test

import (
	"testing"

	"mbusproxy/engine/internal/enginetest"
)

// The states that a client's statement does not come by at will.
func TestReasons(t *testing.T) {
	t.Parallel()
	name := enginetest.Installed(t)
	conn := enginetest.Connect(t, name)
	q := enginetest.One[int](t, conn, enginetest.NewConsumer, "q")
	store := func(consumer int, iid, more, values string) {
		t.Helper()
		enginetest.Exec(t, conn, `insert into mbus4.message (id, consumer_id, available_at, added, iid`+more+`)
			select nextval('mbus4.post_id'), $1, clock_timestamp(), now(), $2`+values, consumer, iid)
	}
	want := func(iid, want string) {
		t.Helper()
		if got := enginetest.One[string](t, conn, "select coalesce(string_agg(concat_ws(' ', queue, consumer, state, detail, waits_for, pid, username), ', '), '') from mbus4.reasons($1)", iid); got != want {
			t.Errorf("%s: %s, want %s", iid, got, want)
		}
	}
	store(q, "old", ", expires", ", now() - interval '1 s'")
	want("old", "q default expired it is about to be removed")
	store(1, "bad", "", "")
	want("bad", "dmq default dead it lies in dmq until somebody consumes it")
	enginetest.Exec(t, conn, "update mbus4.message set headers = 'dmq.error=>\"division by zero\"' where iid = 'bad'")
	want("bad", "dmq default dead division by zero")
	store(q, "parked", ", after", ", '{nowhere}'")
	want("parked", "q default ready 1 before it")
	enginetest.Exec(t, conn, "update mbus4.message set available_at = 'infinity' where iid = 'parked'")
	want("parked", "q default waiting it is about to be woken {}")
	store(q, "forever", ", delayed_until", ", 'infinity'")
	enginetest.Exec(t, conn, "update mbus4.message set available_at = 'infinity' where iid = 'forever'")
	want("forever", "q default delayed")

	store(q, "prepared", "", "")
	enginetest.Exec(t, conn, "begin")
	enginetest.Exec(t, conn, "delete from mbus4.message where iid = 'prepared'")
	enginetest.Exec(t, conn, "prepare transaction 'reasons'")
	want("prepared", `q default held the prepared transaction "reasons" has it`)
	enginetest.Exec(t, conn, "rollback prepared 'reasons'")
	want("prepared", "q default ready 1 before it")

	for range 150 {
		store(q, "many", "", "||nextval('mbus4.post_id')")
	}
	store(q, "last", "", "")
	want("last", "q default ready more than 100 before it")
	enginetest.Exec(t, conn, "delete from mbus4.queue where qname = 'q'")
	want("last", "")
}
