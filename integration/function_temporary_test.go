package integration

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
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
		_, err := query(testContext(t), conn, "begin; select mbus4.post_temp('"+queue+"', 'a=>1'); rollback")
		if err != nil {
			ask(t, conn, "rollback")
			if sqlState(err) != "42704" {
				t.Fatal(describe(err))
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
	second := newProxy(t)
	database := newQueueDatabase(t, "q")
	owner, other, far := connect(t, proxied(), database), connect(t, proxied(), database), connect(t, second.endpoint, database)
	queue := ask(t, owner, "select mbus4.create_temporary_queue()")
	again := ask(t, owner, "select mbus4.create_temporary_queue()")
	if queue == again {
		t.Errorf("%s twice", queue)
	}
	for _, sql := range []string{
		"select mbus4.post($1, 'n=>1', iid => $2)",
		"select mbus4.post_temp($1, 'n=>1', null, null, null, null, $2)",
		"select mbus4.post_temp(tqname => $1, data => 'n=>1', iid => $2)",
	} {
		want(t, owner, "own", sql, queue, "own")
		want(t, other, "other", sql, queue, "other")
		want(t, far, "far", sql, queue, "far")
		want(t, owner, "own\nother", "select iid from mbus4.consumen($1, amt => 2)", queue)
		want(t, far, "far", "select iid from mbus4.consume($1)", queue)
		want(t, owner, "", "select iid from mbus4.consume($1)", queue)
	}
	want(t, far, "own", "select mbus4.post($1, 'n=>1', iid => 'own')", queue)
	want(t, owner, "1", "select mbus4.estimated_messages($1)", queue)
	want(t, owner, "own|"+queue, "select iid, headers->'destination' from mbus4.take('own')")
	want(t, other, queue+"."+database, "select substring(mbus4.get_iid($1), '^(.*)\\.')", queue)
	ask(t, far, "select mbus4.clear_tempq()") // its session lives
	want(t, far, "t", "select mbus4.post($1, 'n=>1') is not null", queue)
	ask(t, other, "select mbus4.drop_queue($1)", queue)
	refused(t, owner, "42704", "select mbus4.post($1, 'n=>1')", queue)
	want(t, owner, "t", "select mbus4.post($1, 'n=>1') is not null", again)
}

// However its session ends, a temporary queue goes with its messages and what fed it, and others stay.
func TestTemporaryQueueVanishes(t *testing.T) {
	t.Parallel()
	ends := map[string]func(t *testing.T, proxy *proxyProcess, owner, other *pgconn.PgConn){
		"close": func(_ *testing.T, _ *proxyProcess, owner, _ *pgconn.PgConn) { closeConn(owner.Close) },
		"backend terminated": func(t *testing.T, _ *proxyProcess, owner, other *pgconn.PgConn) {
			want(t, other, "t", fmt.Sprintf("select pg_terminate_backend(%d)", owner.PID()))
		},
		"client killed": func(t *testing.T, _ *proxyProcess, owner, _ *pgconn.PgConn) {
			if err := abort(owner); err != nil {
				t.Fatal(err)
			}
		},
		"client killed in a transaction": func(t *testing.T, _ *proxyProcess, owner, _ *pgconn.PgConn) {
			ask(t, owner, "begin; select mbus4.create_temporary_queue()")
			if err := abort(owner); err != nil {
				t.Fatal(err)
			}
		},
		"proxy killed": func(t *testing.T, proxy *proxyProcess, _, _ *pgconn.PgConn) {
			if err := proxy.kill(); err != nil {
				t.Fatal(err)
			}
		},
		"discard all": func(t *testing.T, _ *proxyProcess, owner, _ *pgconn.PgConn) { ask(t, owner, "discard all") },
		"pg_advisory_unlock_all": func(t *testing.T, _ *proxyProcess, owner, _ *pgconn.PgConn) {
			ask(t, owner, "select pg_advisory_unlock_all()")
		},
	}
	for name, end := range ends {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			at, proxy := proxied(), (*proxyProcess)(nil)
			if name == "proxy killed" {
				proxy = newProxy(t)
				at = proxy.endpoint
			}
			database := newQueueDatabase(t, "q")
			owner, other := connect(t, at, database), connect(t, proxied(), database)
			queue := ask(t, owner, "select mbus4.create_temporary_queue()")
			fed := ask(t, owner, "select mbus4.create_temporary_consumer('q')")
			stays := ask(t, other, "select mbus4.create_temporary_queue()")
			want(t, other, "x\ny\nz", "select mbus4.post(q, 'a=>1', iid => i) from (values ($1, 'x'), ($2, 'y'), ('q', 'z')) v (q, i)", queue, stays)
			want(t, other, "1", "select mbus4.estimated_messages($1)", fed)
			await(t, other, 20*time.Second, "select count(*) = 3 from mbus4.queue where kind = 'temp'")

			end(t, proxy, owner, other)
			awaitNoQueue(t, other, queue)
			awaitNoQueue(t, other, fed)
			refused(t, other, "42704", "select * from mbus4.consume($1)", queue)
			want(t, other, "f|t", "select mbus4.is_msg_exists('x'), mbus4.is_msg_exists('y')")
			want(t, other, "0", "select count(*) from mbus4.consumer where target is not null")
			want(t, other, "y", "select iid from mbus4.consume($1)", stays)
			want(t, other, "z", "select iid from mbus4.consume('q')")
		})
	}
}

// clear_tempq removes at once what dead sessions left.
func TestClearTempQ(t *testing.T) {
	t.Parallel()
	database := newQueueDatabase(t)
	owner, other := connect(t, proxied(), database), connect(t, proxied(), database)
	queue, stays := ask(t, owner, "select mbus4.create_temporary_queue()"), ask(t, other, "select mbus4.create_temporary_queue()")
	pid := owner.PID()
	closeConn(owner.Close)
	awaitBackendGone(t, other, pid)
	ask(t, other, "select mbus4.clear_tempq()")
	want(t, other, stays, "select string_agg(name, ' ') from mbus4.queue where kind = 'temp'")
	refused(t, other, "42704", "select mbus4.post($1, 'a=>1')", queue)
}

// A temporary consumer gets what is posted to its queue from then on and meets its selector.
func TestTemporaryConsumer(t *testing.T) {
	t.Parallel()
	inBothProtocols(t, []string{"q"}, func(t *testing.T, s *session) {
		other := connect(t, proxied(), s.database)
		ask(t, other, "select mbus4.post('q', 'n=>0')")
		every, big := ask(t, s.conn, "select mbus4.create_temporary_consumer('q')"), ""
		var err error
		if big, err = s.form.run(testContext(t), s.conn, do("select mbus4.create_temporary_consumer($1, $2)", "q", "(t.data->'n')::int > 1")); err != nil {
			t.Fatal(describe(err))
		}
		for n := 1; n <= 3; n++ {
			want(t, other, fmt.Sprint("m", n), "select mbus4.post('q', hstore('n', $1), iid => $2)", n, fmt.Sprint("m", n))
		}
		got := "select data->'n', headers->'destination_queue', headers->'destination' = $1 from mbus4.consumen($1, amt => 9)"
		s.want(t, "1|q|t\n2|q|t\n3|q|t", got, every)
		s.want(t, "2|q|t\n3|q|t", got, big)
		s.want(t, "4", "select count(*) from mbus4.consumen('q', amt => 9)")
		s.want(t, "2", "select count(*) from mbus4.consumer where target is not null")
		s.want(t, "", "select mbus4.drop_queue($1)", big)
		s.want(t, "1", "select count(*) from mbus4.consumer where target is not null")
		want(t, other, "m4", "select mbus4.post('q', 'n=>4', iid => 'm4')")
		s.want(t, "4|q|t", got, every)
	})
}

// What a transaction made that is rolled back was never there; the session's other queues stay.
func TestTemporaryQueueRollback(t *testing.T) {
	t.Parallel()
	inBothProtocols(t, []string{"q"}, func(t *testing.T, s *session) {
		other := connect(t, proxied(), s.database)
		kept := ask(t, s.conn, "select mbus4.create_temporary_queue()")
		s.want(t, "", "begin")
		gone := ask(t, s.conn, "select mbus4.create_temporary_queue()")
		s.want(t, "t", "select mbus4.create_temporary_consumer('q') is not null")
		s.want(t, "m", "select mbus4.post($1, 'a=>1', iid => 'm')", gone)
		refused(t, other, "42704", "select mbus4.post($1, 'a=>1')", gone)
		s.want(t, "", "rollback")
		s.refused(t, "42704", "select mbus4.post($1, 'a=>1')", gone)
		s.want(t, "n", "select mbus4.post('q', 'a=>1', iid => 'n')")
		s.want(t, "1", "select count(*) from mbus4.queue where kind = 'temp'")

		s.want(t, "", "begin")
		s.want(t, "", "savepoint s")
		gone = ask(t, s.conn, "select mbus4.create_temporary_queue()")
		s.want(t, "", "rollback to s")
		s.want(t, "", "commit")
		s.refused(t, "42704", "select mbus4.post($1, 'a=>1')", gone)
		// Of a session whose first queue was never there, the next one lives all the same.
		ask(t, other, "begin; select mbus4.create_temporary_queue(); rollback")
		later := ask(t, other, "select mbus4.create_temporary_queue()")
		ask(t, s.conn, "select mbus4.clear_tempq()")
		for _, queue := range []string{kept, later} {
			s.want(t, "m", "select mbus4.post($1, 'a=>1', iid => 'm')", queue)
		}
	})
}

// A queue has room for so many temporary consumers: each is asked at each post.
func TestTemporaryConsumersBound(t *testing.T) {
	t.Parallel()
	database := newQueueDatabase(t, "q", "r")
	server, client := connect(t, direct(), database), connect(t, proxied(), database)
	ask(t, server, "insert into mbus4.consumer (queue, name, target) select 'q', 'TRIGGER t' || n, 't' || n from generate_series(1, 999) n")
	want(t, client, "t", "select mbus4.create_temporary_consumer('q') is not null")
	for _, sql := range []string{
		"select mbus4.create_temporary_consumer('q')", "select 1 where mbus4.create_temporary_consumer('q', $$t.data->'a' = 'b'$$) is null",
	} {
		if report := refusal(t, client, "54000", sql); !strings.Contains(report.Message, `queue "q"`) || report.Hint == "" {
			t.Errorf("%s: %v", sql, report)
		}
	}
	want(t, client, "t", "select mbus4.create_temporary_consumer('r') is not null")
}
