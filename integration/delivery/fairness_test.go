package delivery

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgconn"

	"mbusproxy/integration/internal/forms"
	"mbusproxy/integration/internal/harness"
)

// Messages that become deliverable behind the place where the others are being consumed come all
// the same, while new ones keep arriving: given back by a rollback, or posted with a past date.
func TestNobodyStarves(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name string
		// behind makes the messages old1 … old5 deliverable, when later ones have been consumed.
		behind func(t *testing.T, holder *pgconn.PgConn)
	}{
		{"given back", func(t *testing.T, holder *pgconn.PgConn) { harness.Ask(t, holder, "rollback") }},
		{"posted with a past date", func(t *testing.T, holder *pgconn.PgConn) {
			harness.Ask(t, holder, "commit; select mbus4.post('q', 'a=>1', delayed_until => '2001-01-01', iid => 'old' || n) from generate_series(1, 5) n")
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			database := harness.NewQueueDatabase(t, "q")
			holder, other := harness.Connect(t, harness.Proxied(), database), harness.Connect(t, harness.Proxied(), database)
			harness.Ask(t, holder, "select mbus4.post('q', 'a=>1', iid => 'old' || n) from generate_series(1, 5) n")
			harness.Ask(t, holder, "select mbus4.post('q', 'a=>1', iid => 'new' || n) from generate_series(1, 1100) n")
			harness.Want(t, holder, "5", "begin; select count(*) from mbus4.consumen('q', amt => 5)")
			for range 10 {
				harness.Want(t, other, "100", "select count(*) from mbus4.consumen('q', amt => 100)")
			}
			c.behind(t, holder)

			// The flow never ends: there is always something newer to deliver.
			deadline := time.Now().Add(harness.AskLimit) // housekeeping shares the machine with the other tests
			late := 0
			for n := 0; late < 5; n++ {
				harness.Ask(t, other, "select mbus4.post('q', 'a=>1', iid => $1)", fmt.Sprint("flow", n))
				if strings.HasPrefix(harness.Ask(t, other, "select iid from mbus4.consume('q')"), "old") {
					late++
				}
				if time.Now().After(deadline) {
					t.Fatalf("%d of 5 messages came, the others starve", late)
				}
			}
		})
	}
}

// Two transactions that post under one iid: the second waits for the first.
func TestSameIIDAtOnce(t *testing.T) {
	t.Parallel()
	database := harness.NewQueueDatabase(t, "q")
	first, second, server := harness.Connect(t, harness.Proxied(), database), harness.Connect(t, harness.Proxied(), database), harness.Connect(t, harness.Direct(), database)
	for _, c := range []struct{ end, code string }{{"rollback", ""}, {"commit", "23505"}} {
		harness.Ask(t, first, "begin; select mbus4.post('q', 'n=>1', iid => 'i')")
		failed := make(chan error, 1)
		ctx := harness.Context(t)
		go func() {
			_, err := harness.Query(ctx, second, "select mbus4.post('q', 'n=>2', iid => $1)", "i")
			failed <- err
		}()
		harness.Await(t, server, fmt.Sprintf(
			"select count(*) = 1 from pg_stat_activity where pid = %d and wait_event_type = 'Lock'", second.PID()))
		harness.Ask(t, first, c.end)
		if err := <-failed; harness.SQLState(err) != c.code || (err == nil) != (c.code == "") {
			t.Errorf("after %s: %s, want %q", c.end, harness.Describe(err), c.code)
		}
		harness.Want(t, second, "i", "select iid from mbus4.consumen('q', amt => 9)")
	}
}

// A queue or a consumer that is dropped takes its messages along, also those that are held.
func TestDropWhileHeld(t *testing.T) {
	t.Parallel()
	database := harness.NewQueueDatabase(t, "q")
	holder, other := harness.Connect(t, harness.Proxied(), database), harness.Connect(t, harness.Proxied(), database)
	harness.Ask(t, other, "select mbus4.post('q', 'a=>1', iid => 'm' || n) from generate_series(1, 3) n")
	harness.Want(t, holder, "1", "begin; select count(*) from mbus4.consume('q')")
	harness.Ask(t, other, "select mbus4.drop_queue('q')")
	harness.Refused(t, other, "42704", "select mbus4.post('q', 'a=>1')")
	harness.Ask(t, holder, "rollback")
	harness.Refused(t, holder, "42704", "select * from mbus4.consume('q')")
	harness.Ask(t, other, "select mbus4.create_queue('q', 1)")
	harness.Want(t, holder, "", "select iid from mbus4.consumen('q', amt => 9)")
	harness.Want(t, holder, "f|f", "select mbus4.is_msg_exists('m1'), mbus4.peek_q()")
	harness.Want(t, holder, "m1", "select mbus4.post('q', 'a=>1', iid => 'm1')")
	harness.Want(t, holder, "m1", "select iid from mbus4.consumen('q', amt => 9)")
}

// Payloads of megabytes, and keys and values of every kind, come out as they went in.
func TestPayloads(t *testing.T) {
	t.Parallel()
	forms.ForEach(t, []string{"q"}, func(t *testing.T, s *forms.Session) {
		big := strings.Repeat("größe 𝄞 ", 300_000)
		s.Want(t, "big", "select mbus4.post('q', hstore('text', $1), iid => 'big')", big)
		s.Want(t, "t", "select data->'text' = $1 from mbus4.consume('q')", big)
		odd := `"quo\"te"=>"back\\slash", "null"=>NULL, "NULL"=>"NULL", ""=>"", "a=>b"=>"c,d", "mbus4.post('q')"=>"$1"`
		s.Want(t, "odd", "select mbus4.post('q', $1, properties => $1, iid => 'odd')", odd)
		s.Want(t, "t|t", "select data = $1::hstore, properties = $1::hstore from mbus4.consume('q')", odd)
	})
}
