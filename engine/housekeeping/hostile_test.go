package housekeeping_test

import (
	"testing"

	"github.com/jackc/pgx/v5"

	"mbusproxy/engine"
	"mbusproxy/engine/internal/enginetest"
	"mbusproxy/engine/internal/served"
)

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
		`insert into mbus4.schedule (name, cron, timezone, qname) values (E'\xff', '@every 1s', 'UTC', 'q'), ('a', '@every 1s', 'UTC', 'q'), ('z', '@every 1s', 'UTC', 'q'), ('cron', E'\xff', 'UTC', 'q'), ('zone', '@every 1s', E'\xff', 'q'), ('queue', '@every 1s', 'UTC', E'\xfe')`,
		`insert into mbus4.waiting (dep, consumer_id, id) values ('a', 7, 1), (E'm\xff', 7, 1), ('z', 7, 1)`,
		`insert into mbus4.unique_post (queue, key, until) values (E'\xff', E'\xff', now() - interval '1 h')`,
	} {
		enginetest.Exec(t, conn, sql, pgx.QueryExecModeSimpleProtocol)
	}
	for _, sql := range []string{`insert into mbus4.queue (qname, consumers_cnt) values (E'\xff', 1)`, `insert into mbus4.consumer (queue_id, qname, name) select id, qname, 'default' from mbus4.queue where qname = E'\xff'`} {
		enginetest.Exec(t, conn, sql)
	}
	e := served.Open(t, engine.Options{})
	db, err := e.Database(enginetest.Context(t), name)
	if err != nil {
		t.Fatal(err)
	}
	if o, err := db.Overview(enginetest.Context(t)); err != nil || len(o.Consumers) < 2 || len(o.Queues) < 2 {
		t.Errorf("%+v, %v", o, err)
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

// Names of roles are the cluster's: in a database they need be no text. The schedules of such a role go on, and so do others'.
func TestOwnerThatIsNoText(t *testing.T) {
	t.Parallel()
	bytes := enginetest.Connect(t, enginetest.NewDatabaseOf(t, "encoding 'SQL_ASCII' template template0 lc_collate 'C' lc_ctype 'C'"))
	enginetest.Exec(t, bytes, "set client_encoding = 'SQL_ASCII'")
	name := enginetest.Installed(t)
	conn := enginetest.Connect(t, name)
	role := name + "_\xff"
	enginetest.Exec(t, bytes, `create role "`+role+`" in role mbus4_user`)
	t.Cleanup(func() { enginetest.Exec(t, bytes, `drop role "`+role+`"`) })
	enginetest.One[int](t, conn, enginetest.NewConsumer, "q")
	// As that role's session writes it.
	enginetest.Exec(t, conn, "do $$ begin execute format('set local role %I', (select rolname from pg_roles where rolname ~ ('^' || current_database() || '_.$'))); insert into mbus4.schedule (name, cron, timezone, qname) values ('a', '@every 1s', 'UTC', 'q'), ('b', '@every 1s', 'UTC', 'q'); end $$")
	enginetest.Exec(t, conn, "insert into mbus4.schedule (name, cron, timezone, qname) values ('c', '@every 1s', 'UTC', 'q')")
	e := served.Open(t, engine.Options{})
	enginetest.Eventually(t, "all tick", func() bool {
		if _, err := e.Database(enginetest.Context(t), name); err != nil {
			t.Fatal(err)
		}
		return enginetest.One[bool](t, conn, "select count(*) = 3 from mbus4.schedule where last_at > changed + interval '2 s'")
	})
}
