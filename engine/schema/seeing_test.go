package schema_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5/pgconn"

	"mbusproxy/engine/internal/enginetest"
)

// storeDead stores messages in dmq that came from a queue and, unless it is null, a consumer.
const storeDead = `insert into mbus4.message (id, consumer_id, available_at, added, headers)
	select nextval('mbus4.post_id'), 1, clock_timestamp(), now(), hstore(array['destination', $1, 'dmq.error', 'it failed', 'dmq.consumer', $2]) from generate_series(1, $3::int)`

// What is dead counts for the consumer it came from, and for its queue.
func TestDead(t *testing.T) {
	t.Parallel()
	conn := enginetest.Connect(t, enginetest.Installed(t))
	q := enginetest.One[int](t, conn, enginetest.NewConsumer, "q")
	enginetest.Exec(t, conn, "insert into mbus4.consumer (queue_id, qname, name) select id, qname, 'second' from mbus4.queue where qname = 'q'")
	enginetest.Exec(t, conn, "insert into mbus4.queue (qname, consumers_cnt) values ('alone', 0)")
	store := func(queue string, consumer any, n int) {
		t.Helper()
		enginetest.Exec(t, conn, storeDead, queue, consumer, n)
	}
	want := func(when, want string) {
		t.Helper()
		got := enginetest.One[string](t, conn, `select string_agg(concat_ws(' ', x.queue, x.consumer, x.dead, x.exact), ', ' order by x.queue, x.consumer) from (
			select queue, consumer, dead, exact from mbus4.consumers where queue = 'q' union all select queue, 'all', dead, exact from mbus4.queues where queue in ('alone', 'q', 'dmq')) x`)
		if got != want {
			t.Errorf("%s: %s, want %s", when, got, want)
		}
	}
	want("none", "alone all 0 t, dmq all 0 t, q all 0 t, q default 0 t, q second 0 t")
	store("q", "second", 5)
	store("q", "gone", 3)
	store("q", nil, 2) // run_on_q says no consumer
	store("alone", "gone", 1)
	enginetest.Exec(t, conn, "insert into mbus4.message (id, consumer_id, available_at, added) values (nextval('mbus4.post_id'), 1, clock_timestamp(), now())")
	want("some", "alone all 1 t, dmq all 0 t, q all 10 t, q default 2 t, q second 5 t")
	for consumer, want := range map[string]string{"default": "2 dead it failed t", "second": "5 dead it failed t"} {
		if got := enginetest.One[string](t, conn, `select concat_ws(' ', count(*), min(state), max(detail), bool_and(iid like 'dmq.%'))
			from mbus4.messages_of('q', $1, 'dead')`, consumer); got != want {
			t.Errorf("%s: %s", consumer, got)
		}
	}
	if n := enginetest.One[int](t, conn, "select count(*) from mbus4.messages_of('dmq') where state = 'dead'"); n != 12 {
		t.Error(n)
	}
	// In a large table the first thousand are counted, beyond that it is an estimate.
	enginetest.Exec(t, conn, `insert into mbus4.message (id, consumer_id, available_at, added, data)
		select nextval('mbus4.post_id'), $1, clock_timestamp(), now(), hstore('n', repeat('x', 500)) from generate_series(1, 30000)`, q)
	want("beside many others", "alone all 1 t, dmq all 0 t, q all 10 f, q default 2 f, q second 5 t")
	store("q", "second", 100_000)
	if got := enginetest.One[string](t, conn, `select concat_ws(' ', c.dead between 60000 and 140000, q.dead between 60000 and 140000, c.exact or q.exact)
		from mbus4.consumers c join mbus4.queues q on q.queue = c.queue where c.consumer = 'second'`); got != "t t f" {
		t.Errorf("many: %s", got)
	}
	if pages := enginetest.Pages(t, conn, "select * from mbus4.queues"); pages > 2500 {
		t.Errorf("%d pages", pages)
	}
}

// Each state, with what is beside it.
func TestMessagesOf(t *testing.T) {
	t.Parallel()
	name := enginetest.Installed(t)
	conn := enginetest.Connect(t, name)
	q := enginetest.One[int](t, conn, enginetest.NewConsumer, "q")
	enginetest.Exec(t, conn, `insert into mbus4.message (id, consumer_id, available_at, added, iid, delayed_until, expires, headers, data, after) values
		(nextval('mbus4.post_id'), $1, now() - interval '9 s', now(), null, null, null, null, 'n=>1', null),
		(nextval('mbus4.post_id'), $1, now() - interval '8 s', now(), 'hostile', null, now() + interval '1 day', 'retry.attempt=>x', 'n=>2', null),
		(nextval('mbus4.post_id'), $1, now() - interval '7 s', now(), 'old', null, now() - interval '1 s', null, 'n=>3', null),
		(nextval('mbus4.post_id'), $1, now() + interval '1 h', now(), null, now() + interval '1 h', null, null, 'n=>4', null),
		(nextval('mbus4.post_id'), $1, now() + interval '2 h', now(), 'out', null, null, 'retry.attempt=>3', 'n=>5', null),
		(nextval('mbus4.post_id'), $1, 'infinity', now(), 'parked', null, null, null, 'n=>6', '{a,b}')`, q)
	const row = `concat_ws(' ', iid ~ '^q[.].*[0-9]{17}', state, since <= now(), until > now(), waits_for, attempt, data->'n', headers->'destination')`
	for what, want := range map[string]string{
		"mbus4.messages_of('q')":                                  "t ready t 1 q, f ready t t 2 q, f expired f 3 q, t delayed t t 4 q, f leased t 3 5 q, f waiting t {a,b} 6 q",
		"mbus4.messages_of('Q', 'DEFAULT', 'ready')":              "t ready t 1 q, f ready t t 2 q",
		"mbus4.messages_of('q', state => 'ready', amt => 1)":      "t ready t 1 q",
		"mbus4.messages_of('q', state => 'delayed')":              "t delayed t t 4 q",
		"mbus4.messages_of('q', state => 'leased')":               "f leased t 3 5 q",
		"mbus4.messages_of('q', state => 'waiting')":              "f waiting t {a,b} 6 q",
		"mbus4.messages_of('q', state => 'expired')":              "f expired f 3 q",
		"mbus4.messages_of('q', amt => 0)":                        "",
		"mbus4.messages_of('q', 'default', null, null) offset 99": "",
		"mbus4.messages_of('q', 'default', 'held')":               "",
		"mbus4.messages_of('q', 'default', 'dead')":               "",
	} {
		if got := enginetest.One[string](t, conn, "select coalesce(string_agg("+row+", ', ' order by data->'n'), '') from (select * from "+what+") m"); got != want {
			t.Errorf("%s: %s, want %s", what, got, want)
		}
	}
	for sql, want := range map[string]string{
		"mbus4.messages_of('none')":                              `42704 unrecognized configuration parameter "queue "none" does not exist"`,
		"mbus4.messages_of(null)":                                `42704 unrecognized configuration parameter "queue null does not exist"`,
		"mbus4.messages_of('q', 'none')":                         `42704 unrecognized configuration parameter "queue "q" has no consumer "none""`,
		"mbus4.messages_of('q', null)":                           `42704 unrecognized configuration parameter "queue "q" has no consumer null"`,
		"mbus4.messages_of('q', amt => -1)":                      `2201W LIMIT must not be negative`,
		"mbus4.messages_of('q', state => 'lost')":                `22P02 invalid input syntax for type integer: ""lost" is not a state of messages: ready, delayed, waiting, leased, held, expired, dead"`,
		"mbus4.messages_of('q', 'default', $$' or true --$$)":    `22P02 invalid input syntax for type integer: ""' or true --" is not a state of messages: ready, delayed, waiting, leased, held, expired, dead"`,
		"mbus4.messages_of($$q' union select null --$$, 'lost')": `42704 unrecognized configuration parameter "queue "q' union select null --" does not exist"`,
	} {
		_, err := conn.Exec(enginetest.Context(t), "select * from "+sql)
		var e *pgconn.PgError
		if !errors.As(err, &e) || e.Code+" "+e.Message != want {
			t.Errorf("%s: %v", sql, err)
		}
	}
	// A row that somebody has put there, of a time that no iid can name, is shown without one.
	enginetest.Exec(t, conn, `insert into mbus4.message (id, consumer_id, available_at, added) values (1, $1, '294276-12-31 23:59:59Z', now())`, q)
	if got := enginetest.One[string](t, conn, "select string_agg(coalesce(iid, 'none'), ' ') from mbus4.messages_of('q') where until > '2200-01-01Z'"); got != "none" {
		t.Error(got)
	}
	enginetest.Exec(t, conn, "delete from mbus4.message where available_at > '2200-01-01Z' and available_at < 'infinity'")
	// In a transaction that only reads it works, too, and it locks nothing.
	enginetest.Exec(t, conn, "begin transaction read only")
	if n := enginetest.One[int](t, conn, "select count(*) from mbus4.messages_of('q')"); n != 6 {
		t.Error(n)
	}
	enginetest.Exec(t, conn, "commit; delete from mbus4.message where iid = 'hostile'")
}

// It reads no more than was asked for, and a bounded number of messages in other states, and says so when it gives up.
func TestMessagesOfIsBounded(t *testing.T) {
	t.Parallel()
	name := enginetest.Installed(t)
	conn := enginetest.Connect(t, name)
	q := enginetest.One[int](t, conn, enginetest.NewConsumer, "q")
	enginetest.Exec(t, conn, "analyze mbus4.message")
	enginetest.Exec(t, conn, postKinds, q, kinds, []int{100_000, 100_000, 10_000, 0})
	enginetest.Exec(t, conn, storeDead, "other", "default", 100_000)
	for _, when := range []string{"not analyzed", "analyzed"} {
		for _, c := range []struct {
			call  string
			pages int // at most
			gives int
			tells string
		}{
			{"messages_of('q')", 1000, 100, ""},
			{"messages_of('q', state => 'ready', amt => 5)", 500, 5, ""},
			{"messages_of('q', state => 'delayed', amt => 5)", 500, 5, ""},
			{"messages_of('q', state => 'waiting', amt => 5)", 500, 5, ""},
			{"messages_of('q', state => 'delayed', amt => 1000000)", 500_000, 100_000, ""},
			{"messages_of('q', state => 'leased')", 15_000, 0, "after 10100 messages the search was given up: there may be more"},
			{"messages_of('q', state => 'held', amt => 1)", 15_000, 0, "after 10001 messages the search was given up: there may be more"},
			{"messages_of('q', state => 'dead')", 15_000, 0, "after 10100 messages the search was given up: there may be more"},
		} {
			if pages := enginetest.Pages(t, conn, "select * from mbus4."+c.call); pages > c.pages {
				t.Errorf("%s, %s: %d pages", when, c.call, pages)
			}
			if n := enginetest.One[int](t, conn, "select count(state) from mbus4."+c.call); n != c.gives {
				t.Errorf("%s, %s: %d", when, c.call, n)
			}
			if got := enginetest.One[string](t, conn, "select coalesce(string_agg(detail, '; '), '') from mbus4."+c.call+" where state is null"); got != c.tells {
				t.Errorf("%s, %s: %s", when, c.call, got)
			}
		}
		enginetest.Exec(t, conn, "analyze mbus4.message")
	}
}

// A session that has asked while there was nothing keeps a plan that is good for much, and for a thousand queues.
func TestSeeingKeepsItsPlan(t *testing.T) {
	t.Parallel()
	name := enginetest.Installed(t)
	early, conn, holder := enginetest.Connect(t, name), enginetest.Connect(t, name), enginetest.Connect(t, name)
	enginetest.Exec(t, conn, "analyze")
	q := enginetest.One[int](t, conn, enginetest.NewConsumer, "q")
	asked := []string{"select count(*) from mbus4.messages_of('q', amt => 20)", "select count(*) from mbus4.queues", "select count(*) from mbus4.consumers"}
	for _, sql := range asked {
		for range 7 {
			enginetest.One[int](t, early, sql)
		}
	}
	enginetest.Exec(t, conn, postKinds, q, kinds, []int{100_000, 100_000, 100_000, 0})
	enginetest.Exec(t, conn, `with q as (insert into mbus4.queue (qname, consumers_cnt) select 'q' || n, 1 from generate_series(1, 1000) n returning id, qname)
		insert into mbus4.consumer (queue_id, qname, name) select id, qname, 'default' from q`)
	enginetest.Exec(t, conn, `insert into mbus4.message (id, consumer_id, available_at, added)
		select nextval('mbus4.post_id'), c.id, clock_timestamp() - interval '1 hour', now() from mbus4.consumer c cross join generate_series(1, 150) where c.qname ~ '^q[0-9]'`)
	for _, when := range []string{"not analyzed", "analyzed"} {
		for _, open := range []bool{false, true} {
			if open {
				enginetest.Exec(t, holder, "begin; delete from mbus4.message where available_at < clock_timestamp() - interval '59 minutes' and consumer_id % 2 = 0")
			}
			for i, most := range []int{300, 1000 * 30, 1000 * 30} { // ten of each consumer's, and what it takes to find them
				if pages := enginetest.Pages(t, early, asked[i]); pages > most {
					t.Errorf("%s, open %t: %s: %d pages", when, open, asked[i], pages)
				}
			}
			if open {
				if got := enginetest.One[string](t, early, "select concat_ws(' ', bool_and(held between 11 and 5000), count(*)) from mbus4.consumers where held > 0"); got != "t 500" {
					t.Error(got)
				}
				enginetest.Exec(t, holder, "rollback")
			}
		}
		enginetest.Exec(t, conn, "analyze")
	}
}

// Who may not consume sees nothing, by none of the ways; who may needs no more than that.
func TestSeeingRights(t *testing.T) {
	t.Parallel()
	name := enginetest.Installed(t)
	conn := enginetest.Connect(t, name)
	enginetest.One[int](t, conn, enginetest.NewConsumer, "q")
	nobody, user := enginetest.NewRole(t, name), enginetest.NewRole(t, name)
	enginetest.Exec(t, conn, "grant mbus4_user to "+user)
	enginetest.Exec(t, conn, "create function public.looks() returns bigint language sql as 'select count(*) from mbus4.messages_of(''q'')'")
	ways := []string{
		"select * from mbus4.queues", "select * from mbus4.consumers", "select * from mbus4.messages_of('q')", "select public.looks()", "select * from mbus4.rates",
		"select * from mbus4.traffic", "select * from mbus4.states_of_consumers()", "select * from mbus4.holder_of('3')",
	}
	for role, may := range map[string]bool{nobody: false, user: true} {
		as := enginetest.ConnectTo(t, enginetest.DSNAs(t, name, role))
		for _, sql := range ways {
			_, err := as.Exec(enginetest.Context(t), sql)
			if may != (err == nil) || err != nil && !strings.Contains(err.Error(), "42501") {
				t.Errorf("%s, may %t: %v", sql, may, err)
			}
		}
	}
	// Nor where somebody lets it into the schema: nothing here is public.
	enginetest.Exec(t, conn, "grant usage on schema mbus4 to "+nobody)
	as := enginetest.ConnectTo(t, enginetest.DSNAs(t, name, nobody))
	for _, sql := range ways {
		if _, err := as.Exec(enginetest.Context(t), sql); err == nil || !strings.Contains(err.Error(), "42501") {
			t.Errorf("%s: %v", sql, err)
		}
	}
	enginetest.Exec(t, conn, "revoke usage on schema mbus4 from "+nobody)
}
