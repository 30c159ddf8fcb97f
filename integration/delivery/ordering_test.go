package delivery

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgconn"

	"mbusproxy/integration/internal/forms"
	"mbusproxy/integration/internal/harness"
)

// A message is not delivered while one it waits for is there, in whatever queue.
func TestConsumeAfter(t *testing.T) {
	t.Parallel()
	forms.ForEach(t, []string{"a", "b"}, func(t *testing.T, s *forms.Session) {
		s.Want(t, "x", "select mbus4.post('a', 'n=>1', iid => 'x')")
		s.Want(t, "y", "select mbus4.post('b', 'n=>2', iid => 'y')")
		s.Want(t, "m", "select mbus4.post('b', 'n=>3', $1, iid => 'm')", harness.WaitFor("x", "y", "not.there"))
		s.Want(t, "free", "select mbus4.post('b', 'n=>4', $1, iid => 'free')", harness.WaitFor("not.there"))
		s.Want(t, "y\nfree", "select iid from mbus4.consumen('b', amt => 9)")
		s.Want(t, "t", "select mbus4.is_msg_exists('m')")

		// In the transaction that consumes what it waits for it is due, elsewhere it is not.
		other := harness.Connect(t, harness.Proxied(), s.Database)
		s.Want(t, "", "begin")
		s.Want(t, "x", "select iid from mbus4.consume('a')")
		harness.Want(t, other, "", "select iid from mbus4.consume('b')")
		s.Want(t, "m", "select iid from mbus4.consume('b')")
		s.Want(t, "", "rollback")
		s.Want(t, "", "select iid from mbus4.consume('b')")
		s.Want(t, "x", "select iid from mbus4.take('x')")
		s.Want(t, "m|t", "select iid, headers ? 'consume_after' from mbus4.consume('b')")

		s.Refused(t, "22P02", "select mbus4.post('a', 'n=>5', $1)", "consume_after=>x")
		s.Want(t, "", "select iid from mbus4.consume('a')")
	})
}

// One statement delivers all that a message waits for; one of them has no iid of its own.
func TestConsumeAfterSeveralAtOnce(t *testing.T) {
	t.Parallel()
	forms.ForEach(t, []string{"a", "b"}, func(t *testing.T, s *forms.Session) {
		own := harness.Ask(t, s.Conn, "select mbus4.post('a', 'n=>1')")
		s.Want(t, "y", "select mbus4.post('a', 'n=>2', iid => 'y')")
		s.Want(t, "m", "select mbus4.post('b', 'n=>3', $1, iid => 'm')", harness.WaitFor(own, "y"))
		s.Want(t, "", "begin")
		s.Want(t, "2", "select count(*) from mbus4.consumen('a', amt => 9)")
		s.Want(t, "m", "select iid from mbus4.consume('b')")
		s.Want(t, "", "rollback")
		s.Want(t, "", "begin")
		s.Want(t, own, "select iid from mbus4.consume('a')")
		s.Want(t, "", "select iid from mbus4.consume('b')")
		s.Want(t, "y", "select iid from mbus4.consume('a')")
		s.Want(t, "m", "select iid from mbus4.consume('b')")
		s.Want(t, "", "commit")
	})
}

// What waits for a message waits for the copies of all its consumers.
func TestConsumeAfterEveryConsumer(t *testing.T) {
	t.Parallel()
	forms.ForEach(t, []string{"a", "b"}, func(t *testing.T, s *forms.Session) {
		s.Want(t, "", "select mbus4.create_consumer('a', 'slow')")
		s.Want(t, "x", "select mbus4.post('a', 'n=>1', iid => 'x')")
		s.Want(t, "m", "select mbus4.post('b', 'n=>2', $1, iid => 'm')", harness.WaitFor("x"))
		s.Want(t, "x", "select iid from mbus4.consume('a')")
		s.Want(t, "", "select iid from mbus4.consume('b')")
		s.Want(t, "x", "select iid from mbus4.consume('a', 'slow')")
		s.Want(t, "m", "select iid from mbus4.consume('b')")
	})
}

// Putting a message back under its iid keeps waiting what waits for it, in dmq as well; dmq itself
// knows no order.
func TestConsumeAfterPutBack(t *testing.T) {
	t.Parallel()
	forms.ForEach(t, []string{"a", "b"}, func(t *testing.T, s *forms.Session) {
		s.Want(t, "x", "select mbus4.post('a', 'n=>1', iid => 'x')")
		s.Want(t, "m", "select mbus4.post('b', 'n=>2', $1, iid => 'm')", harness.WaitFor("x"))
		for _, queue := range []string{"a", "a", "dmq"} {
			s.Want(t, "", "begin")
			s.Want(t, "x", "select iid from mbus4.consume('a')")
			s.Want(t, "x", "select mbus4.post($1, 'n=>1', iid => 'x')", queue)
			s.Want(t, "", "commit")
			s.Want(t, "", "select iid from mbus4.consume('b')")
		}
		s.Want(t, "dead", "select mbus4.post('dmq', 'n=>3', $1, iid => 'dead')", harness.WaitFor("m"))
		s.Want(t, "x\ndead", "select iid from mbus4.consumen('dmq', amt => 9)")
		s.Want(t, "m", "select iid from mbus4.consume('b')")
	})
}

// When what a message waits for expires, or its queue is dropped, it is due.
func TestConsumeAfterVanished(t *testing.T) {
	t.Parallel()
	database := harness.NewQueueDatabase(t, "a", "b", "c")
	conn := harness.Connect(t, harness.Proxied(), database)
	harness.Ask(t, conn, "select mbus4.post('a', 'n=>1', expires => (now() + '300 ms')::timestamp, iid => 'x')")
	harness.Ask(t, conn, "select mbus4.post('c', 'n=>1', iid => 'y')")
	harness.Want(t, conn, "m", "select mbus4.post('b', 'n=>2', $1, iid => 'm')", harness.WaitFor("x", "y"))
	harness.Want(t, conn, "", "select iid from mbus4.consume('b')")
	harness.Ask(t, conn, "select mbus4.drop_queue('c')")
	harness.Await(t, conn, "select count(*) = 1 from mbus4.consume('b')")
}

// Two dependencies consumed at the same moment: neither transaction sees that it is the last one.
func TestConsumeAfterTwoAtOnce(t *testing.T) {
	t.Parallel()
	database := harness.NewQueueDatabase(t, "a", "b")
	one, two := harness.Connect(t, harness.Proxied(), database), harness.Connect(t, harness.Proxied(), database)
	harness.Ask(t, one, "select mbus4.post('a', 'n=>1', iid => 'x')")
	harness.Ask(t, one, "select mbus4.post('a', 'n=>1', iid => 'y')")
	harness.Want(t, one, "m", "select mbus4.post('b', 'n=>2', $1, iid => 'm')", harness.WaitFor("x", "y"))
	harness.Want(t, one, "x", "begin; select iid from mbus4.consume('a')")
	harness.Want(t, two, "y", "begin; select iid from mbus4.consume('a')")
	harness.Ask(t, one, "commit")
	harness.Ask(t, two, "commit")
	harness.Await(t, one, "select count(*) = 1 from mbus4.consume('b')")
}

// A dependency consumed while the dependent is being posted: neither transaction sees the other.
func TestConsumeAfterPostedMeanwhile(t *testing.T) {
	t.Parallel()
	for _, order := range []string{"consumed first", "posted first"} {
		t.Run(order, func(t *testing.T) {
			t.Parallel()
			database := harness.NewQueueDatabase(t, "a", "b")
			one, two := harness.Connect(t, harness.Proxied(), database), harness.Connect(t, harness.Proxied(), database)
			harness.Ask(t, one, "select mbus4.post('a', 'n=>1', iid => 'x')")
			consume := func() { harness.Want(t, one, "x", "begin; select iid from mbus4.consume('a')") }
			post := func() {
				harness.Ask(t, two, "begin")
				harness.Want(t, two, "m", "select mbus4.post('b', 'n=>2', $1, iid => 'm')", harness.WaitFor("x"))
			}
			if order == "consumed first" {
				consume()
				post()
				harness.Ask(t, one, "commit")
				harness.Ask(t, two, "commit")
			} else {
				post()
				consume()
				harness.Ask(t, two, "commit")
				harness.Want(t, two, "", "select iid from mbus4.consume('b')")
				harness.Ask(t, one, "commit")
			}
			harness.Await(t, one, "select count(*) = 1 from mbus4.consume('b')")
		})
	}
}

// Messages that wait for one another are listed, and the others go on.
func TestConsumeAfterCircle(t *testing.T) {
	t.Parallel()
	database := harness.NewQueueDatabase(t, "q")
	conn := harness.Connect(t, harness.Proxied(), database)
	for _, m := range [][2]string{{"a", "b"}, {"b", "c"}, {"c", "a"}, {"self", "self"}, {"tail", "a"}} {
		harness.Ask(t, conn, "select mbus4.post('q', '', $1, iid => $2)", harness.WaitFor(m[1]), m[0])
	}
	harness.Ask(t, conn, "select mbus4.post('q', '', iid => 'free')")
	harness.Want(t, conn, "free", "select iid from mbus4.consumen('q', amt => 9)")
	out, err := exec.CommandContext(harness.Context(t), harness.Binary(), "why", "--circles", "--output", "csv", "--dsn", harness.Proxied().DSN(database)).CombinedOutput()
	if want := "iid,path\na,a -> b -> c -> a\nb,b -> c -> a -> b\nc,c -> a -> b -> c\nself,self -> self\n"; err != nil || string(out) != want {
		t.Errorf("%v: got\n%swant\n%s", err, out, want)
	}
	harness.Ask(t, conn, "select mbus4.take('a'), mbus4.take('self')")
	// c and tail are due now; b waits for c, and comes with it gone.
	harness.Want(t, conn, "c,tail", "select string_agg(iid, ',' order by iid) from mbus4.consumen('q', amt => 9)")
	harness.Want(t, conn, "b", "select iid from mbus4.consumen('q', amt => 9)")
}

// A million pairs of which one waits for the other are as many as the command reads.
func TestCirclesBound(t *testing.T) {
	t.Parallel()
	database := harness.NewQueueDatabase(t, "q")
	conn := harness.Connect(t, harness.Proxied(), database)
	harness.Ask(t, conn, `insert into mbus4.message (id, consumer_id, available_at, added, iid, after)
		select n, k.id, 'infinity', now(), 'm' || n, w.iids
		from mbus4.consumer k, generate_series(0, 1000) n, (select array_agg('m' || n) iids from generate_series(0, 1000) n) w
		where k.qname = 'q'`)
	out, err := exec.CommandContext(harness.Context(t), harness.Binary(), "why", "--circles", "--dsn", harness.Proxied().DSN(database)).CombinedOutput()
	if err == nil || !strings.Contains(string(out), "54000: messages wait for others more than 1000000 times") || !strings.Contains(string(out), "mbus4.why") {
		t.Errorf("%v: got\n%s", err, out)
	}
}

// Many messages that wait, and a consumer beside them: each message comes once, after all it waits
// for, and none is forgotten.
func TestConsumeAfterUnderLoad(t *testing.T) {
	t.Parallel()
	const messages, consumers = 300, 6
	database := harness.NewQueueDatabase(t, "q0", "q1", "q2")
	poster := harness.Connect(t, harness.Proxied(), database)
	harness.Ask(t, poster, "create table done (place bigserial primary key, iid text unique, at timestamptz default clock_timestamp())")
	harness.Ask(t, poster, "create table dep (iid text, dep text)")
	random := rand.New(rand.NewPCG(1, 2))
	ctx, moved := progressContext(t)
	var workers sync.WaitGroup
	for n := range consumers {
		conn := harness.Connect(t, harness.Proxied(), database)
		workers.Go(func() {
			if err := consumeInOrder(ctx, conn, fmt.Sprint("q", n%3), messages, moved); err != nil {
				t.Errorf("consumer %d: %v", n, err)
			}
		})
	}
	for i := range messages {
		var deps []string
		for range random.IntN(4) {
			if i > 0 {
				deps = append(deps, fmt.Sprint("m", max(0, i-1-random.IntN(40))))
			}
		}
		iid := fmt.Sprint("m", i)
		harness.Ask(t, poster, "begin")
		for _, d := range deps {
			harness.Ask(t, poster, "insert into dep values ($1, $2)", iid, d)
		}
		harness.Ask(t, poster, "select mbus4.post('q' || $1::int % 3, '', $2, iid => $3)", i, harness.WaitFor(deps...), iid)
		harness.Ask(t, poster, "commit")
	}
	workers.Wait()
	harness.Want(t, poster, fmt.Sprint(messages), "select count(*) from done")
	// A consumer writes its row in the transaction that consumes. Rows of one transaction's order:
	// a dependency was committed, or consumed by the same transaction, before its dependent was.
	harness.Want(t, poster, "0", `select count(*) from dep join done m on m.iid = dep.iid join done d on d.iid = dep.dep where d.at > m.at`)
	harness.Want(t, poster, "0", "select count(*) from mbus4.message")
}

// consumeInOrder consumes and notes what it gets until all messages are noted; it calls moved for each.
func consumeInOrder(ctx context.Context, conn *pgconn.PgConn, queue string, messages int, moved func()) error {
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for {
		got, err := harness.Query(ctx, conn, "insert into done (iid) select iid from mbus4.consume($1) returning iid", queue)
		if err != nil {
			return err
		}
		if got != "" {
			moved()
			continue
		}
		all, err := harness.Query(ctx, conn, "select count(*) from done")
		if err != nil {
			return err
		}
		if all == fmt.Sprint(messages) {
			return nil
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return fmt.Errorf("%s of %d messages: %w", all, messages, ctx.Err())
		}
	}
}

// progressContext ends with the test, and when moved has not been called for harness.TestLimit: for
// tests that take as long as the machine lets them.
func progressContext(t *testing.T) (ctx context.Context, moved func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	watchdog := time.AfterFunc(harness.TestLimit, cancel)
	t.Cleanup(func() {
		watchdog.Stop()
		cancel()
	})
	return ctx, func() { watchdog.Reset(harness.TestLimit) }
}
