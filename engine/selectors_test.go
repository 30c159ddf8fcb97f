package engine

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
)

// selectsSQL asks the function for posting and the one by name; both must say the same.
const selectsSQL = `select mbus4.selects($1, t) is true, mbus4.selects_late($1, t) is true
	from (select row(1, null, 'i', null, null, null, null, 'a=>1', 'b=>2')::mbus4.qt_model as t offset 0) x`

func expectSelects(t *testing.T, conn *pgx.Conn, text string, want bool) {
	t.Helper()
	var fast, late bool
	if err := conn.QueryRow(testContext(t), selectsSQL, selectorID(text)).Scan(&fast, &late); err != nil {
		t.Errorf("%s: %v", text, err)
		return
	}
	if fast != want || late != want {
		t.Errorf("%s: selects gives %v, selects_late %v, want %v", text, fast, late, want)
	}
}

func ensure(t *testing.T, e *Engine, database, text string) error {
	t.Helper()
	db, err := e.Database(testContext(t), database)
	if err != nil {
		t.Fatal(err)
	}
	return db.EnsureSelector(testContext(t), text)
}

// Two proxies make selectors at once, the same ones among them; all of them work, for a statement
// prepared before as well, and whatever the search path.
func TestSelectorsAtOnce(t *testing.T) {
	t.Parallel()
	name := installed(t)
	first, second := openEngine(t, Options{}), openEngine(t, Options{})
	conn := connect(t, name)
	mustExec(t, conn, "set search_path = pg_catalog")
	if _, err := conn.Prepare(testContext(t), selectsSQL, strings.ReplaceAll(selectsSQL, "'a=>1', 'b=>2'", "public.hstore('a', '1'), public.hstore('b', '2')")); err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	for i := range 8 {
		for _, e := range []*Engine{first, second} {
			wg.Go(func() {
				if err := ensure(t, e, name, fmt.Sprintf("t.properties->'a' = '%d'", i/2)); err != nil {
					t.Error(err)
				}
			})
		}
	}
	wg.Wait()
	for i := range 4 {
		expectSelects(t, conn, fmt.Sprintf("t.properties->'a' = '%d'", i), i == 1)
	}
	if n := one[int](t, conn, `select count(*) from pg_proc where proname like 'selector\_%'`); n != 4 {
		t.Errorf("%d functions", n)
	}
}

// What a plan does not know yet is asked for by name.
func TestSelectorUnknownToThePlan(t *testing.T) {
	t.Parallel()
	name := installed(t)
	e := openEngine(t, Options{})
	conn := connect(t, name)
	const text = "t.data ? 'b'"
	if err := ensure(t, e, name, text); err != nil {
		t.Fatal(err)
	}
	mustExec(t, conn, `create or replace function mbus4.selects(selector_id bigint, t mbus4.qt_model) returns boolean
		language sql immutable return mbus4.selects_late(selector_id, t)`)
	expectSelects(t, conn, text, true)
}

func TestSelectorsBeyondWhatIsInlined(t *testing.T) {
	t.Parallel()
	name := installed(t)
	conn := connect(t, name)
	text := func(i int) string { return fmt.Sprintf("t.data->'b' = '%d'", i) }
	for i := range inlinedSelectors + 5 {
		err := pgx.BeginFunc(testContext(t), conn, func(tx pgx.Tx) error { return makeSelector(testContext(t), tx, "public", text(i)) })
		if err != nil {
			t.Fatal(err)
		}
		mustExec(t, conn, `insert into mbus4.consumer (queue_id, queue, name, selector, selector_id)
			select id, name, 'c' || $1::int, $2, $3 from mbus4.queue where name = 'dmq'`, i, text(i), selectorID(text(i)))
	}
	for _, i := range []int{0, 1, 2, inlinedSelectors, inlinedSelectors + 4} {
		expectSelects(t, conn, text(i), i == 2)
	}
}

// A function of a user must not run with the rights of the engine's role while it is checked.
func TestSelectorIsCheckedWithoutRights(t *testing.T) {
	t.Parallel()
	name := installed(t)
	e := openEngine(t, Options{})
	conn := connect(t, name)
	mustExec(t, conn, `create function public.harmless(text) returns boolean immutable language plpgsql as $$
		begin
			if (select rolsuper from pg_roles where rolname = current_user) then
				raise exception 'runs as a superuser';
			end if;
			return $1 = 'x';
		end $$`)
	mustExec(t, conn, `create function public.fickle() returns boolean volatile language plpgsql as 'begin return true; end'`)
	if err := ensure(t, e, name, "public.harmless('x')"); err != nil {
		t.Errorf("an immutable function is refused: %v", err)
	}
	if err := ensure(t, e, name, "public.fickle()"); err == nil || !strings.Contains(err.Error(), "immutable") {
		t.Errorf("a volatile function gives %v", err)
	}
}

func TestSelectorRefusals(t *testing.T) {
	t.Parallel()
	name := installed(t)
	e := openEngine(t, Options{})
	for text, rule := range map[string]string{
		"now() > '2020-01-01'":             "immutable",
		"random() > 0.5":                   "immutable",
		"t.added::text = ''":               "immutable",
		"1":                                "boolean",
		"t.nosuch = 1":                     "columns of t",
		"count(*) > 1":                     "aggregate",
		"generate_series(1, 2) = 1":        "set",
		"$1 is null":                       "",
		strings.Repeat(" ", 20000) + "1=1": "too long",
	} {
		err := ensure(t, e, name, text)
		var refused *Error
		if err == nil || !strings.Contains(err.Error(), rule) {
			t.Errorf("%.40s: got %v, want %q", text, err, rule)
		} else if !asRefusal(err, &refused) || refused.Code == codeInternal {
			t.Errorf("%.40s: %v", text, err)
		}
	}
	if n := one[int](t, connect(t, name), `select count(*) from pg_proc where proname like 'selector\_%'`); n != 0 {
		t.Errorf("%d functions were left behind", n)
	}
	if err := ensure(t, e, name, " \n"); err != nil {
		t.Errorf("an empty selector: %v", err)
	}
}

func asRefusal(err error, e **Error) bool {
	r, ok := err.(*Error) //nolint:errorlint // exactly this type is what clients are shown
	*e = r
	return ok
}

// Functions that no consumer uses go after a day.
func TestSelectorsOutOfUse(t *testing.T) {
	t.Parallel()
	name := installed(t)
	conn := connect(t, name)
	makeOne := func(text string) {
		t.Helper()
		err := pgx.BeginFunc(context.Background(), conn, func(tx pgx.Tx) error { return makeSelector(testContext(t), tx, "public", text) })
		if err != nil {
			t.Fatal(err)
		}
	}
	for _, text := range []string{"t.id = 1", "t.id = 2", "t.id = 3"} {
		makeOne(text)
	}
	mustExec(t, conn, `insert into mbus4.consumer (queue_id, queue, name, selector_id)
		select id, name, 'c', $1 from mbus4.queue where name = 'dmq'`, selectorID("t.id = 2"))
	for _, text := range []string{"t.id = 1", "t.id = 2"} {
		mustExec(t, conn, fmt.Sprintf("comment on function mbus4.%s(mbus4.qt_model) is '%s x'",
			selectorFunction(selectorID(text)), time.Now().Add(-25*time.Hour).UTC().Format(time.RFC3339)))
	}
	makeOne("t.id = 4")
	for text, there := range map[string]bool{"t.id = 1": false, "t.id = 2": true, "t.id = 3": true, "t.id = 4": true} {
		if got := one[bool](t, conn, `select to_regprocedure('mbus4.' || $1 || '(mbus4.qt_model)') is not null`, selectorFunction(selectorID(text))); got != there {
			t.Errorf("%s is there: %v", text, got)
		}
	}
}
