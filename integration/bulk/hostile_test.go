package bulk

import (
	"fmt"
	"testing"
	"time"

	"mbusproxy/integration/internal/harness"
	"mbusproxy/internal/bulk"
)

// Texts that mean ill are texts: in selectors, in names, in what lies in dmq.
func TestHostileTexts(t *testing.T) {
	t.Parallel()
	role := harness.NewRole(t) // it goes after the database, with what it makes there
	database := harness.NewQueueDatabase(t, "q")
	harness.Admin(t, "grant mbus4_user to "+role)
	conn := connect(t, database, role)
	admin := harness.Connect(t, harness.Direct(), database)
	ctx := harness.Context(t)
	const nasty = `'"\ <script>alert(1)</script> $$ %s {{.}} => , NULL ` + "\u202e\u0001\n"
	harness.Ask(t, harness.Connect(t, harness.Proxied(), database), "select mbus4.post('dmq', hstore($1, $2), hstore(array['destination', 'q', 'dmq.error', $3, 'retry.attempt', $4]), hstore('nothing', null), iid => $5)",
		nasty, nasty, nasty, "x'; drop", nasty)

	for _, selector := range []string{
		`true) from mbus4.message; delete from mbus4.message where (true`, `pg_sleep(1) is null`, `(select true)`, `t.data->'n' =`, `'`, `$$`, "true -- ", `t.nothing = 1`,
		`mbus4.operation_begin('purge') > 0`, "true\x01",
	} {
		if id, err := bulk.Begin(ctx, conn, bulk.Request{Kind: bulk.Purge, Selection: bulk.Selection{Selector: selector}}); selector != "true -- " && bulk.SQLState(err) == "" {
			t.Errorf("the selector %q began %d, %v", selector, id, err)
		}
	}
	for _, s := range []bulk.Selection{{Queue: nasty}, {Consumer: nasty}, {Queue: "q", Consumer: nasty}, {Since: time.Now().Add(time.Hour)}, {Until: time.Now().Add(-time.Hour)}} {
		if p := look(t, conn, s, 10); p.Count.Messages != 0 || len(p.Samples) != 0 || !p.Count.Exact {
			t.Errorf("%+v selects %+v", s, p)
		}
		wantCounts(t, run(t, conn, begin(t, conn, bulk.Request{Kind: bulk.Purge, Selection: s})), 0, 0, 0)
	}
	messages, next, err := bulk.List(ctx, conn, bulk.Selection{Selector: fmt.Sprintf("t.iid = $x$%s$x$", nasty)}, nil, 10, 0)
	if err != nil || next != nil || len(messages) != 1 {
		t.Fatalf("%d messages, %v, %v", len(messages), next, err)
	}
	if m := messages[0]; m.IID != nasty || m.Error != nasty || *m.Data[nasty] != nasty || m.Properties["nothing"] != nil || m.Attempts != 0 {
		t.Errorf("the message is %+v", m)
	}

	// What a client brings along of its own is not run.
	if _, err := conn.Exec(ctx, `create temp table hit (what text); create temp table message (id int); create temp table operation (id int);
		create function pg_temp.lower(text) returns text language sql as $$ insert into hit values ('lower'); select $1 $$;
		create function pg_temp.clock_timestamp() returns timestamptz language sql as $$ insert into hit values ('clock'); select now() $$;
		create operator pg_temp.= (leftarg = text, rightarg = text, function = texteq);
		set search_path = pg_temp, pg_catalog, public; set standard_conforming_strings = off; set datestyle = 'German'; set default_transaction_isolation = 'serializable'`); err != nil {
		t.Fatal(err)
	}
	was := harness.Ask(t, admin, dead)
	done := run(t, conn, begin(t, conn, bulk.Request{Kind: bulk.Redrive, Selection: bulk.Selection{Queue: "q", Selector: `t.headers->'destination' = 'q'`}}))
	wantCounts(t, done, 1, 0, 0)
	undo, err := bulk.BeginUndo(ctx, conn, done.ID)
	if err != nil {
		t.Fatal(err)
	}
	wantCounts(t, run(t, conn, undo), 1, 0, 0)
	harness.Want(t, admin, was, dead)
	var hits int
	if err := conn.QueryRow(ctx, "select count(*) from pg_temp.hit").Scan(&hits); err != nil || hits != 0 {
		t.Errorf("%d functions of the client's ran, %v", hits, err)
	}
}

// What cannot go back stays where it is and is counted; the rest goes. Taken back is what nobody has had.
func TestWhatStays(t *testing.T) {
	t.Parallel()
	database := harness.NewQueueDatabase(t, "q", "picky", "two")
	maker := harness.Connect(t, harness.Proxied(), database)
	harness.Ask(t, maker, `select mbus4.drop_consumer('picky', 'default'), mbus4.create_consumer('picky', 'reds', $$ t.data->'colour' = 'red' $$), mbus4.create_consumer('two', 'other')`)
	harness.Ask(t, maker, `select mbus4.post('q', 'n=>0', iid => 'there'), mbus4.post('q', 'n=>0', iid => 'first')`)
	goes := []string{
		`'n=>1', 'destination=>q', null, null`,
		`'n=>2, colour=>red', 'destination=>picky', null, null`, // is selected
		`'n=>3', 'destination=>two', 'twice', null`,             // for two consumers
		`'n=>4', 'destination=>two', 'once', null`,
		`'n=>5', 'destination=>q, consume_after=>"{first}"', 'waits', null`,
		`'n=>6', 'destination=>q, seenby=>"{elsewhere}"', null, '2100-01-01'`,
		`'n=>7', 'destination=>q, dmq.iid=>own', null, null`,
		`'n=>8', 'destination=>q, consume_after=>"{}"', 'null', null`,
	}
	stays := []string{
		`'n=>11', 'destination=>gone', null, null`,                  // no such queue
		`'n=>12', 'destination=>q, dmq.consumer=>gone', null, null`, // no such consumer
		`'n=>13', 'destination=>dmq', null, null`,
		`'n=>14', null, null, null`,                               // from nowhere
		`'n=>15', 'destination=>q, consume_after=>x', null, null`, // no array
		`'n=>16', 'destination=>q, seenby=>"{x"', null, null`,     // no array
		`'n=>17', 'destination=>picky', null, null`,               // nobody selects it
		`'n=>18', 'destination=>q', null, '2000-01-01'`,           // it has expired
		`'n=>19', 'destination=>q', 'there', null`,                // the consumer has another under the iid
	}
	admin := harness.Connect(t, harness.Direct(), database)
	for _, m := range append(goes, stays...) {
		harness.Ask(t, admin, "insert into mbus4.message (id, consumer_id, available_at, added, data, headers, iid, expires) select nextval('mbus4.post_id'), 1, clock_timestamp(), clock_timestamp(), "+m)
	}
	was := harness.Ask(t, admin, dead)
	conn := connect(t, database, "postgres")
	// Somebody has one in their hands.
	holder := harness.Connect(t, harness.Direct(), database)
	harness.Ask(t, holder, "begin; select from mbus4.message where consumer_id = 1 and data->'n' = '1' for update")
	done := run(t, conn, begin(t, conn, bulk.Request{Kind: bulk.Redrive}))
	wantCounts(t, done, int64(len(goes))-1, int64(len(stays)), 1)
	harness.Ask(t, holder, "rollback")
	harness.Want(t, admin, "picky reds 2|q default 5|q default 6|q default 7|q default 8|two default 3|two default 4|two other 3|two other 4", `
		select string_agg(format('%s %s %s', c.qname, c.name, m.data->'n'), '|' order by c.qname, c.name, m.data->'n')
		from mbus4.message m join mbus4.consumer c on c.id = m.consumer_id where c.id <> 1 and m.data->'n' <> '0'`)
	harness.Want(t, admin, "t", "select available_at = 'infinity' from mbus4.message where iid = 'waits'")
	undo := func(operation int64) int64 {
		t.Helper()
		id, err := bulk.BeginUndo(harness.Context(t), conn, operation)
		if err != nil {
			t.Fatal(err)
		}
		return id
	}
	wantCounts(t, run(t, conn, undo(done.ID)), int64(len(goes))-1, 0, 0)
	harness.Want(t, admin, was, dead)

	// One of two consumers gets its copy: the other one's stays, too. One that was retried was attempted again.
	done = run(t, conn, begin(t, conn, bulk.Request{Kind: bulk.Redrive, Selection: bulk.Selection{Selector: `t.iid in ('once', 'twice') or t.data->'n' in ('1', '7')`}}))
	wantCounts(t, done, 4, 0, 0)
	harness.Want(t, maker, "once", "select iid from mbus4.dyn_consume('two', $$t.iid = 'once'$$, 'other')")
	harness.Want(t, maker, "t", "select mbus4.retry(lease, delay => '0') from mbus4.lease('q', amt => 100) where data->'n' = '1'")
	wantCounts(t, run(t, conn, undo(done.ID)), 1, 3, 0)
}
