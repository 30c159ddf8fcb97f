package selectors_test

import (
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/jackc/pgx/v5"

	"mbusproxy/engine"
	"mbusproxy/engine/calls"
	"mbusproxy/engine/internal/enginetest"
	"mbusproxy/engine/internal/served"
	"mbusproxy/engine/refusal"
	"mbusproxy/engine/schema"
	"mbusproxy/engine/selectors"
	"mbusproxy/selector"
	"mbusproxy/sqlfuncs"
)

// ensure has a selector checked for the tests' own role.
func ensure(t *testing.T, e *engine.Engine, database, text string) error {
	t.Helper()
	return ensureAs(t, e, database, "postgres", text, false)
}

func ensureAs(t *testing.T, e *engine.Engine, database, role, text string, temporary bool) error {
	t.Helper()
	db, err := e.Database(enginetest.Context(t), database)
	if err != nil {
		t.Fatal(err)
	}
	return db.EnsureSelector(enginetest.Context(t), selectors.Use{Role: role, Temporary: temporary, Text: text})
}

// general makes a row for a selector that takes a condition of the test's own.
func general(t *testing.T, conn *pgx.Conn, text, condition string, canFail bool) {
	t.Helper()
	enginetest.Exec(t, conn, `insert into mbus4.selector (id, text, condition, can_fail, version, major, maker) values ($1, $2, $3, $4, $5, $6, 'postgres')`,
		selectors.RowID(text), text, condition, canFail, selector.Version, serverMajor(t, conn))
}

func serverMajor(t *testing.T, conn *pgx.Conn) int {
	t.Helper()
	return enginetest.One[int](t, conn, "select current_setting('server_version_num')::int / 10000")
}

func countSelectors(t *testing.T, conn *pgx.Conn) int {
	t.Helper()
	return enginetest.One[int](t, conn, "select count(*) from mbus4.selector")
}

// called is a call in whose arguments nothing is a parameter.
func called(serves, args string) string { return "select mbus4.at_" + serves + "(" + args + ", '1')" }

// Two proxies make selectors at once, the same ones among them.
func TestSelectorsAtOnce(t *testing.T) {
	t.Parallel()
	name := enginetest.Installed(t)
	first, second := served.Open(t, engine.Options{}), served.Open(t, engine.Options{})
	var wg sync.WaitGroup
	for i := range 8 {
		for _, e := range []*engine.Engine{first, second} {
			wg.Go(func() {
				if err := ensure(t, e, name, fmt.Sprintf("t.properties->'a' = '%d'", i/2)); err != nil {
					t.Error(err)
				}
			})
		}
	}
	wg.Wait()
	conn := enginetest.Connect(t, name)
	if n := countSelectors(t, conn); n != 4 {
		t.Errorf("%d rows", n)
	}
	if n := enginetest.One[int](t, conn, `select count(*) from pg_proc where proname like 'selector\_%' and pronamespace = 'mbus4'::regnamespace and proname <> 'selector_error_counts'`); n != 0 {
		t.Errorf("%d functions", n)
	}
}

// Each form of selector decides the same in every way to post: with and without headers, before and after the
// database had selectors, by a function, by a trigger, from a trigger.
func TestSelectorsDecide(t *testing.T) {
	t.Parallel()
	name := enginetest.Installed(t)
	conn := enginetest.Connect(t, name)
	for _, q := range []string{"q", "far", "source"} {
		enginetest.Exec(t, conn, called("create_queue", "'"+q+"', 1"))
	}
	e := served.Open(t, engine.Options{})
	const (
		simple   = `(t.properties->'p') = '1' and t.data->'d' = 'x'`
		headers  = `t.headers->'destination_queue' = 'q'`
		conflict = `t.data->'d' = 'x' and t.data->'d' = 'y'`
		takes    = "general"
		fails    = "fails"
	)
	for _, text := range []string{simple, headers, conflict} {
		if err := ensure(t, e, name, text); err != nil {
			t.Fatal(err)
		}
	}
	general(t, conn, takes, `case when (t.data operator(public.->) 'n'::pg_catalog.text) operator(pg_catalog.=) '5' and t.iid is not null and t.added operator(pg_catalog.>) '2001-01-01'::pg_catalog.timestamp then 1 else 0 end`, false)
	general(t, conn, fails, `case when (t.data operator(public.->) 'n'::pg_catalog.text) operator(pg_catalog.=) '5' then 1 else -1 end`, true)
	for i, text := range []string{simple, headers, conflict, takes, fails} {
		enginetest.Exec(t, conn, called("create_consumer", fmt.Sprintf("'q', 'c%d', %s, false", i, quoted(text))))
		enginetest.Exec(t, conn, called("create_trigger", fmt.Sprintf("'q', 'far%d', %s", i, quoted(text))))
		enginetest.Exec(t, conn, called("create_queue", fmt.Sprintf("'far%d', 1", i)))
	}
	enginetest.Exec(t, conn, called("create_trigger", "'source', 'q', null"))
	// Which consumers, and which queues behind a trigger, have messages.
	const got = `select coalesce((select string_agg(c.name, ' ' order by c.name) from mbus4.consumer c
			where c.qname = 'q' and c.name <> 'default' and exists (select from mbus4.message m where m.consumer_id = c.id)), '')
		|| '|' || coalesce((select string_agg(c.qname, ' ' order by c.qname) from mbus4.consumer c
			where c.qname like 'far_' and exists (select from mbus4.message m where m.consumer_id = c.id)), '')`
	texts, post := calls.New(), enginetest.FunctionServing(t, "post")
	plain := enginetest.PlainPost(t)
	for _, c := range []struct{ data, properties, want string }{
		{"n=>4", "p=>1", "c1|far1"},
		{"d=>x", "p=>1", "c0 c1|far0 far1"},
		{"d=>x", "p=>2", "c1|far1"},
		{"d=>x", "", "c1|far1"},
		{"n=>5,d=>y", "p=>1", "c1 c3 c4|far1 far3 far4"},
	} {
		want := c.want
		short := fmt.Sprintf("'q', %s, %s, null, null", quoted(c.data), quoted(c.properties))
		long := fmt.Sprintf("'q', %s, null, %s, null, null, null", quoted(c.data), quoted(c.properties))
		full := sqlfuncs.Use{Given: map[string]bool{"iid": true, "headers": true}}
		for way, sql := range map[string]string{
			"inline":    enginetest.InlineUse(texts, post, plain, sqlfuncs.Use{}, short),
			"unknowing": enginetest.InlineUse(texts, post, plain, sqlfuncs.Use{}, short),
			"full":      enginetest.InlineUse(texts, post, post.Arguments(nil), full, long),
			"at_post":   called("post", short),
			"at_full":   called("post_full", long),
		} {
			enginetest.Exec(t, conn, sql)
			if is := enginetest.One[string](t, conn, got); is != want {
				t.Errorf("%s of %s, %s: reaches %q, want %q", way, c.data, c.properties, is, want)
			}
			enginetest.Exec(t, conn, "delete from mbus4.message")
		}
		// What comes from another queue is a message of this one.
		enginetest.Exec(t, conn, called("post", strings.Replace(short, "'q'", "'source'", 1)))
		if is := enginetest.One[string](t, conn, got); is != want {
			t.Errorf("from another queue %s, %s: reaches %q, want %q", c.data, c.properties, is, want)
		}
		enginetest.Exec(t, conn, "delete from mbus4.message")
	}
}

func quoted(s string) string { return "'" + strings.ReplaceAll(s, "'", "''") + "'" }

func asRefusal(err error, e **refusal.Error) bool { return errors.As(err, e) }

// A refused selector leaves nothing, and one that is empty needs nothing.
func TestSelectorRefusals(t *testing.T) {
	t.Parallel()
	name := enginetest.Installed(t)
	e := served.Open(t, engine.Options{})
	for _, text := range []string{
		"t.data->'a' = (select '1')", "mine(t.iid)", "1) or (1", "t.data->'a' = '1'; drop table x", "current_user = 'x'",
		strings.Repeat(" ", 20000) + "t.data->'a' = '1'",
	} {
		err := ensure(t, e, name, text)
		var refused *refusal.Error
		if !asRefusal(err, &refused) || refused.Code == "XX000" || !strings.Contains(refused.Message, "is refused") {
			t.Errorf("%.40s: %v", text, err)
		}
	}
	if n := countSelectors(t, enginetest.Connect(t, name)); n != 0 {
		t.Errorf("%d rows were left behind", n)
	}
	if err := ensure(t, e, name, " \n"); err != nil {
		t.Errorf("an empty selector: %v", err)
	}
}

// A text that has another's id is refused when it is checked, and finds nothing where it was not.
func TestSelectorWithAnothersID(t *testing.T) {
	t.Parallel()
	name := enginetest.Installed(t)
	e := served.Open(t, engine.Options{})
	conn := enginetest.Connect(t, name)
	const text = "t.data->'a' = '1'"
	general(t, conn, text, "1", false)
	enginetest.Exec(t, conn, "update mbus4.selector set text = 'other'")
	var refused *refusal.Error
	if err := ensure(t, e, name, text); !asRefusal(err, &refused) || refused.Code != refusal.DuplicateObject {
		t.Errorf("got %v", err)
	}
	_, err := conn.Exec(enginetest.Context(t), enginetest.Stored(t, conn, called("create_consumer", "'dmq2', 'c', "+quoted(text)+", false")))
	if err == nil || !strings.Contains(err.Error(), "mbus4-error") {
		t.Errorf("got %v", err)
	}
}

// Rows that no consumer uses go after a while; those in use, and those just made, stay.
func TestSelectorsOutOfUse(t *testing.T) {
	t.Parallel()
	name := enginetest.Installed(t)
	conn := enginetest.Connect(t, name)
	for _, text := range []string{"old", "used", "young", "held"} {
		general(t, conn, text, "1", false)
	}
	enginetest.Exec(t, conn, "update mbus4.selector set wanted = now() - interval '2 hours' where text <> 'young'")
	const use = `insert into mbus4.consumer (queue_id, qname, name, selector_id) select id, qname, $2, $1 from mbus4.queue where qname = 'dmq'`
	enginetest.Exec(t, conn, use, selectors.RowID("used"), "used")
	other := enginetest.Connect(t, name)
	enginetest.Exec(t, other, "begin")
	enginetest.Exec(t, other, use, selectors.RowID("held"), "held") // not committed
	collect := func() int64 {
		t.Helper()
		var gone int64
		err := pgx.BeginFunc(enginetest.Context(t), conn, func(tx pgx.Tx) (err error) {
			gone, err = selectors.Collect(enginetest.Context(t), tx)
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
		return gone
	}
	if gone := collect(); gone != 1 {
		t.Errorf("%d removed, want the old one", gone)
	}
	enginetest.Exec(t, other, "rollback")
	if gone := collect(); gone != 1 {
		t.Errorf("%d removed, want the one that was held", gone)
	}
	if got := enginetest.One[string](t, conn, "select string_agg(text, ' ' order by text) from mbus4.selector"); got != "used young" {
		t.Errorf("left: %s", got)
	}
}

// The number of rows has a bound, for a database and for a role; what nobody uses makes room.
func TestSelectorsBound(t *testing.T) {
	t.Parallel()
	name := enginetest.Installed(t)
	e := served.Open(t, engine.Options{})
	conn := enginetest.Connect(t, name)
	fill := func(role string, from, to int) {
		t.Helper()
		enginetest.Exec(t, conn, `insert into mbus4.selector (id, text, condition, can_fail, version, major, maker)
			select n, n, '0', false, $1, $2, $3 from generate_series($4::int, $5::int) n`, selector.Version, serverMajor(t, conn), role, from, to)
	}
	wantLimit := func(role, text string) {
		t.Helper()
		var refused *refusal.Error
		if err := ensureAs(t, e, name, role, text, false); !asRefusal(err, &refused) || refused.Code != "54000" || refused.Hint == "" {
			t.Errorf("got %v", err)
		}
	}
	fill("postgres", 1, selectors.MaxSelectorsOfRole)
	wantLimit("postgres", "t.data->'a' = '1'")
	fill("somebody", selectors.MaxSelectorsOfRole+1, selectors.MaxSelectors-1)
	enginetest.Exec(t, conn, "update mbus4.selector set maker = 'nobody' where id = 1")
	if err := ensure(t, e, name, "t.data->'a' = '2'"); err != nil {
		t.Errorf("one below the bound: %v", err)
	}
	enginetest.Exec(t, conn, "update mbus4.selector set maker = 'somebody' where maker = 'postgres' and id between 2 and 100")
	wantLimit("postgres", "t.data->'a' = '3'")
	enginetest.Exec(t, conn, "update mbus4.selector set wanted = now() - interval '10 minutes' where id = 1")
	if err := ensure(t, e, name, "t.data->'a' = '3'"); err != nil {
		t.Errorf("room was made: %v", err)
	}
}

// What a server of another version, or an older program, made is made again when the database is opened, and what is
// refused by now stops that.
func TestSelectorsAreMadeAgain(t *testing.T) {
	t.Parallel()
	name := enginetest.Installed(t)
	conn := enginetest.Connect(t, name)
	const good, bad, unused = "t.data->'a' = '1'", "mine(t.iid)", "t.data->'b' = '1'"
	for _, text := range []string{good, bad, unused} {
		general(t, conn, text, "1", false)
	}
	use := func(consumer, text string) {
		t.Helper()
		enginetest.Exec(t, conn, `insert into mbus4.consumer (queue_id, qname, name, selector, selector_id) select id, qname, $1, $2, $3 from mbus4.queue where qname = 'dmq'`,
			consumer, text, selectors.RowID(text))
	}
	use("g", good)
	use("b", bad)
	enginetest.Exec(t, conn, "update mbus4.selector set major = 9")
	_, err := engine.Init(enginetest.Context(t), enginetest.DSN(name), schema.Options{})
	var refused *refusal.Error
	if !asRefusal(err, &refused) || !strings.Contains(err.Error(), "queue dmq, consumer b: the selector mine(t.iid) is refused") {
		t.Fatalf("got %v", err)
	}
	if _, err := served.Open(t, engine.Options{}).Database(enginetest.Context(t), name); !asRefusal(err, &refused) {
		t.Errorf("opened: %v", err)
	}
	if _, err := served.Open(t, engine.Options{NoInit: true}).Database(enginetest.Context(t), name); !asRefusal(err, &refused) || !strings.Contains(refused.Hint, "mbusproxy init") {
		t.Errorf("with --no-init: %v", err)
	}
	res, err := engine.Init(enginetest.Context(t), enginetest.DSN(name), schema.Options{DisableBadSelectors: true})
	if err != nil || len(res.Warnings) != 1 || !strings.Contains(res.Warnings[0], "consumer b") {
		t.Fatalf("%+v, %v", res, err)
	}
	got := enginetest.One[string](t, conn, `select string_agg(concat_ws(' ', c.name, c.general, c.asks_data, s.condition, s.refused is not null), ', ' order by c.name)
		from mbus4.consumer c join mbus4.selector s on s.id = c.selector_id and s.major <> 9`)
	if want := `b t 0 t, g f "a"=>"1" `; !strings.HasPrefix(got, want) {
		t.Errorf("got %s", got)
	}
	if n := countSelectors(t, conn); n != 2 {
		t.Errorf("%d rows, want those in use", n)
	}
}

// A snapshot older than a selector does not see it: the call says that the transaction is to be run again.
func TestSelectorNewerThanTheSnapshot(t *testing.T) {
	t.Parallel()
	name := enginetest.Installed(t)
	e := served.Open(t, engine.Options{})
	conn := enginetest.Connect(t, name)
	enginetest.Exec(t, conn, called("create_queue", "'q', 1"))
	enginetest.Exec(t, conn, "begin isolation level repeatable read")
	enginetest.One[int](t, conn, "select count(*) from mbus4.queue")
	const text = "t.data->'a' = '1'"
	if err := ensure(t, e, name, text); err != nil {
		t.Fatal(err)
	}
	create := enginetest.Stored(t, conn, called("create_consumer", "'q', 'c', "+quoted(text)+", false"))
	if _, err := conn.Exec(enginetest.Context(t), create); err == nil || !strings.Contains(err.Error(), "mbus4-error 1 40001 could not serialize access") {
		t.Errorf("got %v", err)
	}
	enginetest.Exec(t, conn, "rollback")
	enginetest.Exec(t, conn, "begin isolation level repeatable read")
	enginetest.Exec(t, conn, create)
	enginetest.Exec(t, conn, "commit")
}
