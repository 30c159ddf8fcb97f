package calls

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgconn"

	"mbusproxy/integration/internal/forms"
	"mbusproxy/integration/internal/harness"
)

// reaped is how long a temporary queue may outlive its session; the proxy promises about a second.
const reaped = 15 * time.Second

// awaitNoQueue waits until posting to a queue is refused because it is not there.
func awaitNoQueue(t *testing.T, conn *pgconn.PgConn, queue string) {
	t.Helper()
	deadline := time.After(reaped)
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for {
		_, err := harness.Query(harness.Context(t), conn, "begin; select mbus4.post_temp('"+queue+"', 'a=>1'); rollback")
		if err != nil {
			harness.Ask(t, conn, "rollback")
			if harness.SQLState(err) != "42704" {
				t.Fatal(harness.Describe(err))
			}
			return
		}
		select {
		case <-deadline:
			t.Fatalf("%s is still there after %v", queue, reaped)
		case <-tick.C:
		}
	}
}

// Any session may post to a temporary queue, through any proxy, and its owner and others consume.
func TestTemporaryQueueOfOthers(t *testing.T) {
	t.Parallel()
	second := harness.NewProxy(t)
	database := harness.NewQueueDatabase(t, "q")
	owner, other, far := harness.Connect(t, harness.Proxied(), database), harness.Connect(t, harness.Proxied(), database), harness.Connect(t, second.Endpoint, database)
	queue := harness.Ask(t, owner, "select mbus4.create_temporary_queue()")
	again := harness.Ask(t, owner, "select mbus4.create_temporary_queue()")
	if queue == again {
		t.Errorf("%s twice", queue)
	}
	for _, sql := range []string{
		"select mbus4.post($1, 'n=>1', iid => $2)",
		"select mbus4.post_temp($1, 'n=>1', null, null, null, null, $2)",
		"select mbus4.post_temp(tqname => $1, data => 'n=>1', iid => $2)",
	} {
		harness.Want(t, owner, "own", sql, queue, "own")
		harness.Want(t, other, "other", sql, queue, "other")
		harness.Want(t, far, "far", sql, queue, "far")
		harness.Want(t, owner, "own\nother", "select iid from mbus4.consumen($1, amt => 2)", queue)
		harness.Want(t, far, "far", "select iid from mbus4.consume($1)", queue)
		harness.Want(t, owner, "", "select iid from mbus4.consume($1)", queue)
	}
	harness.Want(t, far, "own", "select mbus4.post($1, 'n=>1', iid => 'own')", queue)
	harness.Want(t, owner, "1", "select mbus4.estimated_messages($1)", queue)
	harness.Want(t, owner, "own|"+queue, "select iid, headers->'destination' from mbus4.take('own')")
	harness.Want(t, other, queue+"."+database, "select substring(mbus4.get_iid($1), '^(.*)\\.')", queue)
	harness.Ask(t, far, "select mbus4.clear_tempq()") // its session lives
	harness.Want(t, far, "t", "select mbus4.post($1, 'n=>1') is not null", queue)
	harness.Ask(t, other, "select mbus4.drop_queue($1)", queue)
	harness.Refused(t, owner, "42704", "select mbus4.post($1, 'n=>1')", queue)
	harness.Want(t, owner, "t", "select mbus4.post($1, 'n=>1') is not null", again)
}

// However its session ends, a temporary queue goes with its messages and what fed it, and others stay.
func TestTemporaryQueueVanishes(t *testing.T) {
	t.Parallel()
	ends := map[string]func(t *testing.T, proxy *harness.Proxy, owner, other *pgconn.PgConn){
		"close": func(_ *testing.T, _ *harness.Proxy, owner, _ *pgconn.PgConn) { harness.Close(owner) },
		"backend terminated": func(t *testing.T, _ *harness.Proxy, owner, other *pgconn.PgConn) {
			harness.Want(t, other, "t", fmt.Sprintf("select pg_terminate_backend(%d)", owner.PID()))
		},
		"client killed": func(t *testing.T, _ *harness.Proxy, owner, _ *pgconn.PgConn) {
			if err := harness.Abort(owner); err != nil {
				t.Fatal(err)
			}
		},
		"client killed in a transaction": func(t *testing.T, _ *harness.Proxy, owner, _ *pgconn.PgConn) {
			harness.Ask(t, owner, "begin; select mbus4.create_temporary_queue()")
			if err := harness.Abort(owner); err != nil {
				t.Fatal(err)
			}
		},
		"proxy killed": func(t *testing.T, proxy *harness.Proxy, _, _ *pgconn.PgConn) {
			if err := proxy.Kill(); err != nil {
				t.Fatal(err)
			}
		},
		"discard all": func(t *testing.T, _ *harness.Proxy, owner, _ *pgconn.PgConn) { harness.Ask(t, owner, "discard all") },
		"pg_advisory_unlock_all": func(t *testing.T, _ *harness.Proxy, owner, _ *pgconn.PgConn) {
			harness.Ask(t, owner, "select pg_advisory_unlock_all()")
		},
	}
	for name, end := range ends {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			at, proxy := harness.Proxied(), (*harness.Proxy)(nil)
			if name == "proxy killed" {
				proxy = harness.NewProxy(t)
				at = proxy.Endpoint
			}
			database := harness.NewQueueDatabase(t, "q")
			owner, other := harness.Connect(t, at, database), harness.Connect(t, harness.Proxied(), database)
			queue := harness.Ask(t, owner, "select mbus4.create_temporary_queue()")
			fed := harness.Ask(t, owner, "select mbus4.create_temporary_consumer('q')")
			stays := harness.Ask(t, other, "select mbus4.create_temporary_queue()")
			harness.Want(t, other, "x\ny\nz", "select mbus4.post(q, 'a=>1', iid => i) from (values ($1, 'x'), ($2, 'y'), ('q', 'z')) v (q, i)", queue, stays)
			harness.Want(t, other, "1", "select mbus4.estimated_messages($1)", fed)
			harness.Await(t, other, 20*time.Second, "select count(*) = 3 from mbus4.queue where kind = 'temp'")

			end(t, proxy, owner, other)
			awaitNoQueue(t, other, queue)
			awaitNoQueue(t, other, fed)
			harness.Refused(t, other, "42704", "select * from mbus4.consume($1)", queue)
			harness.Want(t, other, "f|t", "select mbus4.is_msg_exists('x'), mbus4.is_msg_exists('y')")
			harness.Want(t, other, "0", "select count(*) from mbus4.consumer where target is not null")
			harness.Want(t, other, "y", "select iid from mbus4.consume($1)", stays)
			harness.Want(t, other, "z", "select iid from mbus4.consume('q')")
		})
	}
}

// clear_tempq removes at once what dead sessions left.
func TestClearTempQ(t *testing.T) {
	t.Parallel()
	database := harness.NewQueueDatabase(t)
	owner, other := harness.Connect(t, harness.Proxied(), database), harness.Connect(t, harness.Proxied(), database)
	queue, stays := harness.Ask(t, owner, "select mbus4.create_temporary_queue()"), harness.Ask(t, other, "select mbus4.create_temporary_queue()")
	pid := owner.PID()
	harness.Close(owner)
	harness.AwaitBackendGone(t, other, pid)
	harness.Ask(t, other, "select mbus4.clear_tempq()")
	harness.Want(t, other, stays, "select string_agg(qname, ' ') from mbus4.queue where kind = 'temp'")
	harness.Refused(t, other, "42704", "select mbus4.post($1, 'a=>1')", queue)
}

// A temporary consumer gets what is posted to its queue from then on and meets its selector.
func TestTemporaryConsumer(t *testing.T) {
	t.Parallel()
	inBothProtocols(t, []string{"q"}, func(t *testing.T, s *forms.Session) {
		other := harness.Connect(t, harness.Proxied(), s.Database)
		harness.Ask(t, other, "select mbus4.post('q', 'n=>0')")
		every, big := harness.Ask(t, s.Conn, "select mbus4.create_temporary_consumer('q')"), ""
		var err error
		if big, err = s.Form.Run(harness.Context(t), s.Conn, forms.Do("select mbus4.create_temporary_consumer($1, $2)", "q", "(t.data->'n')::int > 1")); err != nil {
			t.Fatal(harness.Describe(err))
		}
		for n := 1; n <= 3; n++ {
			harness.Want(t, other, fmt.Sprint("m", n), "select mbus4.post('q', hstore('n', $1), iid => $2)", n, fmt.Sprint("m", n))
		}
		got := "select data->'n', headers->'destination_queue', headers->'destination' = $1 from mbus4.consumen($1, amt => 9)"
		s.Want(t, "1|q|t\n2|q|t\n3|q|t", got, every)
		s.Want(t, "2|q|t\n3|q|t", got, big)
		s.Want(t, "4", "select count(*) from mbus4.consumen('q', amt => 9)")
		s.Want(t, "2", "select count(*) from mbus4.consumer where target is not null")
		s.Want(t, "", "select mbus4.drop_queue($1)", big)
		s.Want(t, "1", "select count(*) from mbus4.consumer where target is not null")
		harness.Want(t, other, "m4", "select mbus4.post('q', 'n=>4', iid => 'm4')")
		s.Want(t, "4|q|t", got, every)
	})
}

// What a transaction made that is rolled back was never there; the session's other queues stay.
func TestTemporaryQueueRollback(t *testing.T) {
	t.Parallel()
	inBothProtocols(t, []string{"q"}, func(t *testing.T, s *forms.Session) {
		other := harness.Connect(t, harness.Proxied(), s.Database)
		kept := harness.Ask(t, s.Conn, "select mbus4.create_temporary_queue()")
		s.Want(t, "", "begin")
		gone := harness.Ask(t, s.Conn, "select mbus4.create_temporary_queue()")
		s.Want(t, "t", "select mbus4.create_temporary_consumer('q') is not null")
		s.Want(t, "m", "select mbus4.post($1, 'a=>1', iid => 'm')", gone)
		harness.Refused(t, other, "42704", "select mbus4.post($1, 'a=>1')", gone)
		s.Want(t, "", "rollback")
		s.Refused(t, "42704", "select mbus4.post($1, 'a=>1')", gone)
		s.Want(t, "n", "select mbus4.post('q', 'a=>1', iid => 'n')")
		s.Want(t, "1", "select count(*) from mbus4.queue where kind = 'temp'")

		s.Want(t, "", "begin")
		s.Want(t, "", "savepoint s")
		gone = harness.Ask(t, s.Conn, "select mbus4.create_temporary_queue()")
		s.Want(t, "", "rollback to s")
		s.Want(t, "", "commit")
		s.Refused(t, "42704", "select mbus4.post($1, 'a=>1')", gone)
		// Of a session whose first queue was never there, the next one lives all the same.
		harness.Ask(t, other, "begin; select mbus4.create_temporary_queue(); rollback")
		later := harness.Ask(t, other, "select mbus4.create_temporary_queue()")
		harness.Ask(t, s.Conn, "select mbus4.clear_tempq()")
		for _, queue := range []string{kept, later} {
			s.Want(t, "m", "select mbus4.post($1, 'a=>1', iid => 'm')", queue)
		}
	})
}

// A queue has room for so many temporary consumers: each is asked at each post.
func TestTemporaryConsumersBound(t *testing.T) {
	t.Parallel()
	database := harness.NewQueueDatabase(t, "q", "r")
	server, client := harness.Connect(t, harness.Direct(), database), harness.Connect(t, harness.Proxied(), database)
	harness.Ask(t, server, "insert into mbus4.consumer (qname, name, target) select 'q', 'TRIGGER t' || n, 't' || n from generate_series(1, 999) n")
	harness.Want(t, client, "t", "select mbus4.create_temporary_consumer('q') is not null")
	for _, sql := range []string{
		"select mbus4.create_temporary_consumer('q')", "select 1 where mbus4.create_temporary_consumer('q', $$t.data->'a' = 'b'$$) is null",
	} {
		if report := harness.Refusal(t, client, "54000", sql); !strings.Contains(report.Message, `queue "q"`) || report.Hint == "" {
			t.Errorf("%s: %v", sql, report)
		}
	}
	harness.Want(t, client, "t", "select mbus4.create_temporary_consumer('r') is not null")
}
