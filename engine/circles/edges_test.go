package circles_test

import (
	"os"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"

	"mbusproxy/engine/circles"
	"mbusproxy/engine/internal/enginetest"
)

func TestMain(m *testing.M) { os.Exit(enginetest.Main(m)) }

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

// read gives the circles in a database, as somebody sees them who has the rights of mbus4_user alone.
func read(t *testing.T, conn *pgx.Conn) string {
	t.Helper()
	return ways(circles.Find(edgesOf(t, conn)))
}

func edgesOf(t *testing.T, conn *pgx.Conn) []circles.Edge {
	t.Helper()
	enginetest.Exec(t, conn, "begin read only")
	defer enginetest.Exec(t, conn, "rollback")
	enginetest.Exec(t, conn, "set local role mbus4_user")
	enginetest.Exec(t, conn, circles.Settings)
	rows, err := conn.Query(enginetest.Context(t), circles.Edges)
	if err != nil {
		t.Fatal(err)
	}
	edges, err := pgx.CollectRows(rows, pgx.RowToStructByPos[circles.Edge])
	if err != nil {
		t.Fatal(err)
	}
	return edges
}

// A message has several copies, of which some may be gone.
func TestEdgesOfCopies(t *testing.T) {
	t.Parallel()
	conn := enginetest.Connect(t, enginetest.Installed(t))
	q, r := enginetest.One[int](t, conn, enginetest.NewConsumer, "q"), enginetest.One[int](t, conn, enginetest.NewConsumer, "r")
	wait(t, conn, q, "a b", "b c", "x gone a", "free")
	wait(t, conn, r, "b a")
	if got, want := read(t, conn), "a -> b -> a, b -> a -> b"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	enginetest.Exec(t, conn, "update mbus4.message set expires = now() where consumer_id = $1", r)
	if got := read(t, conn); got != "" {
		t.Errorf("with one that has expired: %s", got)
	}
	enginetest.Exec(t, conn, "update mbus4.message set expires = null")
	enginetest.Exec(t, conn, "delete from mbus4.queue where qname = 'r'")
	if got := read(t, conn); got != "" {
		t.Errorf("with one whose consumer is gone: %s", got)
	}
}

// What reading costs is in proportion to the messages that wait, and what else there is does not matter.
func TestEdgesAreLinear(t *testing.T) {
	t.Parallel()
	conn := enginetest.Connect(t, enginetest.Installed(t))
	q := enginetest.One[int](t, conn, enginetest.NewConsumer, "q")
	enginetest.Exec(t, conn, "set work_mem = '64kB'; "+strings.ReplaceAll(circles.Settings, "set local", "set")) // what it keeps is written to files, so it counts
	chain := func(from, to int) {
		t.Helper()
		enginetest.Exec(t, conn, `insert into mbus4.message (id, consumer_id, available_at, added, iid, after)
			select nextval('mbus4.post_id'), $1, 'infinity', now(), n::text, array[(n + 1)::text] from generate_series($2::int, $3::int) n`, q, from, to)
	}
	chain(1, 500)
	few := enginetest.Pages(t, conn, circles.Edges)
	enginetest.Exec(t, conn, `insert into mbus4.message (id, consumer_id, available_at, added, iid)
		select nextval('mbus4.post_id'), $1, clock_timestamp(), now(), 'other' || n from generate_series(1, 100000) n`, q)
	chain(501, 1000)
	twice := enginetest.Pages(t, conn, circles.Edges)
	t.Logf("pages: %d for 500 in a chain, %d for 1,000", few, twice)
	if twice > 3*few {
		t.Fatalf("%d pages for 500 in a chain, %d for 1,000", few, twice)
	}
	chain(1001, 50000)
	many := enginetest.PagesOnce(t, conn, circles.Edges)
	t.Logf("%d for 50,000", many)
	if many > 50*3*few {
		t.Errorf("%d pages for 500 in a chain, %d for 50,000", few, many)
	}
	enginetest.Exec(t, conn, "update mbus4.message set after = '{1}' where iid = '50000'")
	found := circles.Find(edgesOf(t, conn))
	if len(found) != 50000 || found[0].Way() != "1 -> 2 -> … -> 1" {
		t.Errorf("%d in a circle of 50,000, the first %+v", len(found), found[0])
	}
}
