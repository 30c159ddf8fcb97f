package schema_test

import (
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"

	"mbusproxy/engine/internal/enginetest"
)

// wait puts messages into a queue, each given as "iid" or "iid dep dep …".
func wait(t *testing.T, conn *pgx.Conn, consumer int, messages ...string) {
	t.Helper()
	for _, m := range messages {
		iid, deps, waits := strings.Cut(m, " ")
		var after []string
		if waits {
			after = strings.Fields(deps)
		}
		enginetest.Exec(t, conn, `insert into mbus4.message (id, consumer_id, available_at, added, iid, after)
			select nextval('mbus4.post_id'), $1, 'infinity', now(), $2, $3`, consumer, iid, after)
	}
}

// circles gives the rows of the view, in order.
func circles(t *testing.T, conn *pgx.Conn) string {
	t.Helper()
	return enginetest.One[string](t, conn, `select coalesce(string_agg(format('%s %s', iid, path), ' ' order by iid), '') from mbus4.waiting_in_circle`)
}

func TestCircles(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		messages []string
		want     string
	}{
		"nothing":             {nil, ""},
		"a chain":             {[]string{"a b", "b c", "c d", "d"}, ""},
		"what is gone":        {[]string{"a b", "b c"}, ""},
		"one":                 {[]string{"a a"}, "a {a,a}"},
		"two":                 {[]string{"a b", "b a"}, "a {a,b,a} b {b,a,b}"},
		"three":               {[]string{"a b", "b c", "c a"}, "a {a,b,c,a} b {b,c,a,b} c {c,a,b,c}"},
		"with a tail":         {[]string{"x y", "y a", "a b", "b a"}, "a {a,b,a} b {b,a,b}"},
		"with a way out":      {[]string{"a b", "b a x", "x y", "y"}, "a {a,b,a} b {b,a,b}"},
		"a bridge":            {[]string{"a b", "b a c", "c d", "d e", "e d"}, "a {a,b,a} b {b,a,b} d {d,e,d} e {e,d,e}"},
		"two with one common": {[]string{"a b c", "b a", "c d", "d a"}, "a {a,b,a} b {b,a,b} c {c,d,a,c} d {d,a,c,d}"},
		"the shorter one":     {[]string{"a b", "b c", "c d a", "d a"}, "a {a,b,c,a} b {b,c,a,b} c {c,a,b,c} d {d,a,b,c,d}"},
		"one within another":  {[]string{"a b", "b c b", "c a"}, "a {a,b,c,a} b {b,b} c {c,a,b,c}"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			conn := enginetest.Connect(t, enginetest.Installed(t))
			wait(t, conn, enginetest.One[int](t, conn, enginetest.NewConsumer, "q"), c.messages...)
			if got := circles(t, conn); got != c.want {
				t.Errorf("got %s, want %s", got, c.want)
			}
		})
	}
}

// A message has several copies, of which some may be gone.
func TestCirclesOfCopies(t *testing.T) {
	t.Parallel()
	conn := enginetest.Connect(t, enginetest.Installed(t))
	q, r := enginetest.One[int](t, conn, enginetest.NewConsumer, "q"), enginetest.One[int](t, conn, enginetest.NewConsumer, "r")
	wait(t, conn, q, "a b", "b c")
	wait(t, conn, r, "b a")
	if got, want := circles(t, conn), "a {a,b,a} b {b,a,b}"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	enginetest.Exec(t, conn, "update mbus4.message set expires = now() where consumer_id = $1", r)
	if got := circles(t, conn); got != "" {
		t.Errorf("with one that has expired: %s", got)
	}
	enginetest.Exec(t, conn, "update mbus4.message set expires = null")
	enginetest.Exec(t, conn, "delete from mbus4.queue where qname = 'r'")
	if got := circles(t, conn); got != "" {
		t.Errorf("with one whose consumer is gone: %s", got)
	}
}

// What looking for circles costs is in proportion to the messages that wait, in circles or not, and
// what else there is does not matter.
func TestCirclesAreLinear(t *testing.T) {
	t.Parallel()
	conn := enginetest.Connect(t, enginetest.Installed(t))
	q := enginetest.One[int](t, conn, enginetest.NewConsumer, "q")
	enginetest.Exec(t, conn, "set work_mem = '64kB'") // what it keeps is written to files, so it counts
	chain := func(from, to int) {
		t.Helper()
		enginetest.Exec(t, conn, `insert into mbus4.message (id, consumer_id, available_at, added, iid, after)
			select nextval('mbus4.post_id'), $1, 'infinity', now(), n::text, array[(n + 1)::text] from generate_series($2::int, $3::int) n`, q, from, to)
	}
	touched := func() int {
		t.Helper()
		return enginetest.Pages(t, conn, "select * from mbus4.waiting_in_circle")
	}
	chain(1, 500)
	few := touched()
	enginetest.Exec(t, conn, `insert into mbus4.message (id, consumer_id, available_at, added, iid)
		select nextval('mbus4.post_id'), $1, clock_timestamp(), now(), 'other' || n from generate_series(1, 100000) n`, q)
	chain(501, 1000)
	twice := touched()
	t.Logf("pages: %d for 500 in a chain, %d for 1,000", few, twice)
	if twice > 3*few {
		t.Fatalf("%d pages for 500 in a chain, %d for 1,000", few, twice)
	}
	chain(1001, 50000)
	many := enginetest.PagesOnce(t, conn, "select * from mbus4.waiting_in_circle")
	t.Logf("%d for 50,000", many)
	if many > 50*3*few {
		t.Errorf("%d pages for 500 in a chain, %d for 50,000", few, many)
	}
	// One circle of all: each shows its first step.
	enginetest.Exec(t, conn, "update mbus4.message set after = '{1}' where iid = '50000'")
	if got, want := enginetest.One[string](t, conn, "select format('%s %s', count(*), max(path::text) filter (where iid = '50000')) from mbus4.waiting_in_circle"), "50000 {50000,1,NULL,50000}"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}
