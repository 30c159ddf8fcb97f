package schema_test

import (
	"errors"
	"strings"
	"testing"

	"mbusproxy/engine"
	"mbusproxy/engine/internal/enginetest"
	"mbusproxy/engine/refusal"
	"mbusproxy/engine/schema"
)

// A database made by the first version keeps its messages when it is upgraded.
func TestUpgrade(t *testing.T) {
	t.Parallel()
	name := enginetest.NewDatabase(t)
	conn := enginetest.Connect(t, name)
	if old, err := schema.InstallOld(enginetest.Context(t), conn, 1); err != nil || old.After != 1 {
		t.Fatalf("%+v, %v", old, err)
	}
	id := enginetest.One[int](t, conn, enginetest.NewConsumer, "q")
	enginetest.Exec(t, conn, enginetest.PostSQL, id, "", "kept", "text")
	res, err := engine.Init(enginetest.Context(t), enginetest.DSN(name))
	if err != nil || res.Before != 1 || res.After != enginetest.Newest {
		t.Fatalf("%+v, %v", res, err)
	}
	if got := enginetest.One[string](t, conn, "select iid from mbus4.message where after is null"); got != "kept" {
		t.Errorf("left: %s", got)
	}
}

// Selectors that were functions become rows, for consumers and triggers; those that are refused by now stop the
// upgrade, which lists them, or select nothing where that is asked for.
func TestUpgradeMovesSelectors(t *testing.T) {
	t.Parallel()
	name := enginetest.NewDatabase(t)
	conn := enginetest.Connect(t, name)
	if _, err := schema.InstallOld(enginetest.Context(t), conn, schema.SelectorRowsVersion-1); err != nil {
		t.Fatal(err)
	}
	enginetest.Exec(t, conn, `create domain public.dom as int check (value > 0)`)
	enginetest.Exec(t, conn, `insert into mbus4.queue (name, consumers_cnt) values ('q', 1), ('r', 1)`)
	enginetest.Exec(t, conn, `insert into mbus4.consumer (queue_id, queue, name) select id, name, 'default' from mbus4.queue where name in ('q', 'r')`)
	for consumer, text := range map[string]string{
		"simple": "t.data->'a' = '1'", "same": "t.data->'a' = '1'", "general": "(t.data->'a')::int > 0",
		"bad": "(t.data->'a')::public.dom > 0", "worse": "(t.data->'a')::public.dom > 0",
	} {
		// As the program did it: a function, and its id in the consumer's row.
		const id = `('x' || left(md5($1), 16))::bit(64)::bigint`
		function := enginetest.One[string](t, conn, `select 'mbus4.selector_' || to_hex(`+id+`)`, text)
		enginetest.Exec(t, conn, `create or replace function `+function+`(t mbus4.qt_model) returns boolean language sql immutable return (`+text+`)`)
		enginetest.Exec(t, conn, `insert into mbus4.consumer (queue_id, queue, name, selector, selector_id) select id, name, $2, $1, `+id+` from mbus4.queue where name = 'q'`, text, consumer)
	}
	enginetest.Exec(t, conn, `insert into mbus4.consumer (queue, name, selector, selector_id, target) select 'q', 'TRIGGER r', selector, selector_id, 'r' from mbus4.consumer where name = 'bad'`)
	enginetest.Exec(t, conn, `create or replace function mbus4.selects(selector_id bigint, t mbus4.qt_model) returns boolean language sql immutable return `+
		enginetest.One[string](t, conn, `select p.oid::regproc::text from pg_proc p where proname like 'selector\_%' limit 1`)+`(t)`)

	var refused *refusal.Error
	if _, err := engine.Init(enginetest.Context(t), enginetest.DSN(name)); !errors.As(err, &refused) || refused.Code != refusal.NotInRequiredState || !strings.Contains(refused.Hint, "--disable-bad-selectors") {
		t.Fatalf("got %v", err)
	}
	for _, want := range []string{"queue q, consumer bad: ", "queue q, consumer worse: ", "queue q, trigger to r: ", "(t.data->'a')::public.dom > 0"} {
		if !strings.Contains(refused.Message, want) {
			t.Errorf("the list lacks %q: %s", want, refused.Message)
		}
	}
	if n := enginetest.One[int](t, conn, "select max(version) from mbus4.schema_version"); n != schema.SelectorRowsVersion-1 {
		t.Errorf("stopped at version %d", n)
	}
	res, err := engine.InitDisablingSelectors(enginetest.Context(t), enginetest.DSN(name))
	if err != nil || res.After != enginetest.Newest || len(res.Warnings) != 3 {
		t.Fatalf("%+v, %v", res, err)
	}
	if n := enginetest.One[int](t, conn, `select count(*) from pg_proc where pronamespace = 'mbus4'::regnamespace and (proname ~ '^selector_[0-9a-f]+$' or proname ~ '^selects')`); n != 0 {
		t.Errorf("%d functions of selectors are left", n)
	}
	enginetest.Exec(t, conn, "select mbus4.at_post('q', 'a=>1', null, null, null, '1')")
	if got := enginetest.One[string](t, conn, `select string_agg(c.queue || ' ' || c.name, ', ' order by c.queue, c.name) from mbus4.message m join mbus4.consumer c on c.id = m.consumer_id`); got != "q default, q general, q same, q simple" {
		t.Errorf("a message reaches %s", got)
	}
	if again, err := engine.Init(enginetest.Context(t), enginetest.DSN(name)); err != nil || len(again.Warnings) != 0 {
		t.Errorf("again: %+v, %v", again, err)
	}
}
