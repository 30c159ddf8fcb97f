package delivery

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5/pgconn"

	"mbusproxy/integration/internal/harness"
)

// One statement that posts many messages, some of which wait for others, posts what as many
// statements do: those too that wait for messages of the same statement, whichever way they take.
func TestConsumeAfterInBulk(t *testing.T) {
	t.Parallel()
	database := harness.NewQueueDatabase(t, "a", "s", "t")
	conn := harness.Connect(t, harness.Proxied(), database)
	harness.Ask(t, conn, "select mbus4.create_consumer('a', 'second')")
	harness.Ask(t, conn, "select mbus4.create_consumer('s', 'odd', $$(t.data->'n')::int % 2 = 1$$)")
	harness.Ask(t, conn, "select mbus4.create_trigger('t', 'a')")
	harness.Ask(t, conn, "create table todo (n int, q text, iid text, headers hstore)")
	rnd := rand.New(rand.NewPCG(14, 4))
	waiting := 0
	for range 40 {
		harness.Ask(t, conn, "delete from mbus4.message; delete from mbus4.waiting; delete from todo")
		there := []string{"gone", "place.of.nothing.12345678901234567", "null", `""`}
		there = append(there, harness.Ask(t, conn, "select mbus4.post('a', 'n=>0')"), harness.Ask(t, conn, "select mbus4.post('t', 'n=>0', iid => 'old')"))
		harness.Ask(t, conn, "select mbus4.post('a', 'n=>0', iid => 'stale', expires => '2001-01-01')")
		there = append(there, "stale", "m1", "m2", "m3", "m4", "m5", "m6", "m7", "m8")
		for n := 1; n <= 8; n++ {
			headers := []string{}
			if rnd.IntN(4) > 0 {
				var deps []string
				for range rnd.IntN(4) {
					deps = append(deps, there[rnd.IntN(len(there))])
				}
				headers = append(headers, fmt.Sprintf(`consume_after=>"{%s}"`, strings.ReplaceAll(strings.Join(deps, ","), `"`, `\"`)))
			}
			for _, h := range []string{"seenby=>\"{other}\"", "Redeploy=>t", "k=>v"} {
				if rnd.IntN(6) == 0 {
					headers = append(headers, h)
				}
			}
			iid, given := "null", "null"
			if rnd.IntN(3) > 0 {
				iid = fmt.Sprintf("'m%d'", n)
			}
			if rnd.IntN(8) > 0 {
				given = "$mbus$" + strings.Join(headers, ",") + "$mbus$"
			}
			harness.Ask(t, conn, fmt.Sprintf("insert into todo values (%d, '%s', %s, %s)", n, []string{"a", "a", "a", "s", "t", "dmq"}[rnd.IntN(6)], iid, given))
		}
		post := "select mbus4.post(q, hstore('n', n::text), headers => headers, iid => iid) from todo where %s order by n"
		if rnd.IntN(3) == 0 {
			harness.Ask(t, conn, "update todo set q = 'a'")
			post = strings.Replace(post, "post(q", "post('a'", 1)
		}
		var got []string
		for _, wheres := range [][]string{{"n = 1", "n = 2", "n = 3", "n = 4", "n = 5", "n = 6", "n = 7", "n = 8"}, {"true"}} {
			harness.Ask(t, conn, "begin")
			for _, where := range wheres {
				harness.Ask(t, conn, fmt.Sprintf(post, where))
			}
			got = append(got, posted(t, conn))
			harness.Ask(t, conn, "rollback")
		}
		if waiting += strings.Count(got[0], "infinity"); got[0] != got[1] {
			t.Errorf("%s\none by one:\n%s\nin one statement:\n%s", harness.Ask(t, conn, "select * from todo order by n"), got[0], got[1])
		}
	}
	if waiting < 50 {
		t.Errorf("%d messages waited", waiting)
	}
}

// posted lists what is stored with a number above zero, and what waits for what. Of an iid that a
// message was not given the numbers at its end are left out.
func posted(t *testing.T, conn *pgconn.PgConn) string {
	t.Helper()
	return harness.Ask(t, conn, `
		select m.data->'n', c.qname, c.name, regexp_replace(m.iid, '[.][0-9]+$', ''), m.after, m.headers - 'enqueue_time'::text,
		       case when m.available_at = 'infinity' then 'infinity' end,
		       array(select w.dep from mbus4.waiting w where w.consumer_id = m.consumer_id and w.id = m.id order by 1)
		from mbus4.message m
		join mbus4.consumer c on c.id = m.consumer_id
		where m.data->'n' <> '0'
		order by m.data->'n', c.qname, c.name, m.iid, m.headers`)
}
