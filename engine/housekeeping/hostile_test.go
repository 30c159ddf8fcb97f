package housekeeping_test

import (
	"context"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"mbusproxy/engine"
	"mbusproxy/engine/admin"
	"mbusproxy/engine/internal/enginetest"
	"mbusproxy/engine/internal/served"
)

// However much members of mbus4_user leave to clean up, somebody else's schedule goes on meanwhile,
// and all of it is gone in the end.
func TestBacklogsHoldNobodyUp(t *testing.T) {
	t.Parallel()
	name := enginetest.Installed(t)
	conn := enginetest.Connect(t, name)
	enginetest.One[int](t, conn, enginetest.NewConsumer, "q")
	role := enginetest.NewRole(t, name)
	enginetest.Exec(t, conn, "grant mbus4_user to "+role)
	hostile := enginetest.ConnectTo(t, enginetest.DSNAs(t, name, role))
	enginetest.Exec(t, conn, "insert into mbus4.schedule (name, cron, timezone, qname) values ('s', '@every 1s', 'UTC', 'q')")
	for _, sql := range []string{
		"insert into mbus4.message (id, consumer_id, available_at, added) select n, 1000000 + n, now(), now() from generate_series(1, 300000) n",
		"insert into mbus4.message (id, consumer_id, available_at, added) select n, 999999, now(), now() from generate_series(1, 20000) n",
		"insert into mbus4.message (id, consumer_id, available_at, added, expires) select n, c.id, now(), now(), now() from generate_series(1, 20000) n, mbus4.consumer c where c.qname = 'q'",
		"insert into mbus4.waiting (dep, consumer_id, id) select 'x' || n, 1000000 + n, n from generate_series(1, 20000) n",
		"insert into mbus4.unique_post (queue, key, until) select 'q', n::text, now() from generate_series(1, 20000) n",
		"select count(mbus4.new_temporary_queue()) from generate_series(1, 10000) n",
		"insert into mbus4.message (id, consumer_id, available_at, added) select id, id, now(), now() from mbus4.consumer where qname like 'temp%'",
	} {
		enginetest.Exec(t, hostile, sql)
	}
	e := served.Open(t, engine.Options{})
	if _, err := e.Database(enginetest.Context(t), name); err != nil {
		t.Fatal(err)
	}
	admin.Close(context.Background(), hostile)
	began := time.Now()
	enginetest.Eventually(t, "everything is cleaned up", func() bool {
		if _, err := e.Database(enginetest.Context(t), name); err != nil {
			t.Fatal(err)
		}
		return enginetest.One[bool](t, conn, `
			select not exists (select from mbus4.waiting) and not exists (select from mbus4.unique_post) and not exists (select from mbus4.queue where kind = 'temp')
			       and not exists (select from mbus4.message m where expires is not null or not exists (select from mbus4.consumer c where c.id = m.consumer_id))`)
	})
	seconds := int64(time.Since(began)/time.Second) + 1
	if missed := enginetest.One[int64](t, conn, "select missed from mbus4.schedule"); missed > 2+seconds/4 {
		t.Errorf("a schedule has missed %d of %d ticks", missed, seconds)
	}
}

// What clients have stored need not be text of any encoding. Housekeeping reads bytes, and one row
// that nothing can be done with keeps no other waiting.
func TestBytesThatAreNoText(t *testing.T) {
	t.Parallel()
	name := enginetest.NewDatabaseOf(t, "encoding 'SQL_ASCII' template template0 lc_collate 'C' lc_ctype 'C'")
	conn := enginetest.Connect(t, name)
	enginetest.Prepare(t, conn)
	enginetest.Exec(t, conn, "set client_encoding = 'SQL_ASCII'")
	id := enginetest.One[int](t, conn, enginetest.NewConsumer, "q")
	for _, sql := range []string{
		`insert into mbus4.schedule (name, cron, timezone, qname) values (E'\xff', '@every 1s', 'UTC', 'q'), ('a', '@every 1s', 'UTC', 'q'), ('z', '@every 1s', 'UTC', 'q'), ('cron', E'\xff', 'UTC', 'q'), ('zone', '@every 1s', E'\xff', 'q'), ('queue', '@every 1s', 'UTC', E'\xff')`,
		`insert into mbus4.waiting (dep, consumer_id, id) values ('a', 7, 1), (E'm\xff', 7, 1), ('z', 7, 1)`,
		`insert into mbus4.unique_post (queue, key, until) values (E'\xff', E'\xff', now())`,
	} {
		enginetest.Exec(t, conn, sql, pgx.QueryExecModeSimpleProtocol)
	}
	e := served.Open(t, engine.Options{})
	if _, err := e.Database(enginetest.Context(t), name); err != nil {
		t.Fatal(err)
	}
	for what, sql := range map[string]string{
		"all schedules tick":     `select count(distinct coalesce(convert_from(convert_to(name, 'SQL_ASCII'), 'SQL_ASCII'), '')) = 3 from mbus4.schedule where last_at is not null`,
		"the others say why not": `select count(*) = 3 from mbus4.schedule where last_error is not null`,
		"nobody waits":           `select not exists (select from mbus4.waiting)`,
		"keys go":                `select not exists (select from mbus4.unique_post)`,
	} {
		enginetest.Eventually(t, what, func() bool { return enginetest.One[bool](t, conn, sql) })
	}
	if n := enginetest.One[int](t, conn, "select count(*) from mbus4.message where consumer_id = $1", id); n < 3 {
		t.Errorf("%d messages of schedules", n)
	}
}
