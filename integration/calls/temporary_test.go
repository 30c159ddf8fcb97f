package calls

import (
	"fmt"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5/pgconn"

	"mbusproxy/integration/internal/forms"
	"mbusproxy/integration/internal/harness"
)

// awaitNoQueue waits until consuming from a queue is refused because it is not there.
func awaitNoQueue(t *testing.T, conn *pgconn.PgConn, queue string) {
	t.Helper()
	harness.Eventually(t, func() string {
		_, err := harness.Query(harness.Context(t), conn, "begin; select mbus4.consume('"+queue+"'); rollback")
		if err == nil {
			return queue + " is still there"
		}
		harness.Ask(t, conn, "rollback")
		if harness.SQLState(err) != "42704" {
			t.Fatal(harness.Describe(err))
		}
		return ""
	})
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
	harness.Refused(t, owner, "42704", "select mbus4.consume($1)", queue)
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
			harness.Await(t, other, "select count(*) = 3 from mbus4.queue where kind = 'temp'")

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
	harness.Refused(t, other, "42704", "select mbus4.consume($1)", queue)
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
		got := "select data->'n', headers->'destination_queue' = $1, headers->'destination' = $1 from mbus4.consumen($1, amt => 9)"
		s.Want(t, "1|t|t\n2|t|t\n3|t|t", got, every)
		s.Want(t, "2|t|t\n3|t|t", got, big)
		s.Want(t, "4", "select count(*) from mbus4.consumen('q', amt => 9)")
		s.Want(t, "2", "select count(*) from mbus4.consumer where target is not null")
		s.Want(t, "", "select mbus4.drop_queue($1)", big)
		s.Want(t, "1", "select count(*) from mbus4.consumer where target is not null")
		harness.Want(t, other, "m4", "select mbus4.post('q', 'n=>4', iid => 'm4')")
		s.Want(t, "4|t|t", got, every)
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
		harness.Refused(t, other, "42704", "select mbus4.consume($1)", gone)
		s.Want(t, "", "rollback")
		s.Refused(t, "42704", "select mbus4.consume($1)", gone)
		s.Want(t, "n", "select mbus4.post('q', 'a=>1', iid => 'n')")
		s.Want(t, "1", "select count(*) from mbus4.queue where kind = 'temp'")

		s.Want(t, "", "begin")
		s.Want(t, "", "savepoint s")
		gone = harness.Ask(t, s.Conn, "select mbus4.create_temporary_queue()")
		s.Want(t, "", "rollback to s")
		s.Want(t, "", "commit")
		s.Refused(t, "42704", "select mbus4.consume($1)", gone)
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

// A worker that replies to a requester who has left goes on: what is posted to a temporary queue
// that is not there any more, gets an iid and is discarded, in whatever form. Reading it stays an
// error, and so does posting to a queue that cannot have been one.
func TestPostToDeadTemporaryQueue(t *testing.T) {
	t.Parallel()
	inBothProtocols(t, []string{"q", "r"}, func(t *testing.T, s *forms.Session) {
		owner := harness.Connect(t, harness.Proxied(), s.Database)
		fed := harness.Ask(t, owner, "select mbus4.create_temporary_consumer('q')")
		selected := harness.Ask(t, owner, "select mbus4.create_temporary_consumer('q', $1)", "t.data->'n' = '1'")
		queue := harness.Ask(t, owner, "select mbus4.create_temporary_queue()")
		harness.Close(owner)
		awaitNoQueue(t, s.Conn, queue)
		awaitNoQueue(t, s.Conn, fed)
		awaitNoQueue(t, s.Conn, selected)

		for _, gone := range []string{queue, strings.ToUpper(queue), "temp.00000000000000000000000000000000.7"} {
			iid := strings.ToLower(gone) + "." + s.Database + "."
			begins := func(sql string, args ...any) {
				t.Helper()
				s.Want(t, "t", strings.Replace(sql, "%", "pg_catalog.starts_with(", 1)+", '"+iid+"')", args...)
			}
			s.Want(t, "", "begin")
			s.Want(t, "kept", "select mbus4.post('q', 'n=>1', iid => 'kept')")
			begins("select %mbus4.post($1, 'n=>1')", gone)
			begins("select %mbus4.post('" + gone + "', 'n=>1')")
			begins("select %mbus4.post_temp($1, 'n=>1', 'h=>1', 'p=>1', '2999-01-01', '2001-01-01')", gone)
			begins("select %mbus4.post($1, 'n=>1', headers => 'consume_after=>{kept}')", gone)
			s.Want(t, "mine", "select mbus4.post($1, 'n=>1', iid => 'mine')", gone)
			s.Want(t, "mine", "select mbus4.post_temp(tqname => $1, data => 'n=>1', headers => 'h=>1', iid => 'mine')", gone)
			s.Want(t, "2", "select count(distinct mbus4.post(x, 'n=>1')) from unnest(array[$1, 'r']) x", gone)
			s.Want(t, "2", "select count(distinct mbus4.post(x, 'n=>1', 'h=>1')) from unnest(array['r', $1]) x", gone)
			s.Want(t, "t|t", "select mbus4.post($1, 'n=>1') is not null, mbus4.post($1, 'n=>2') is not null", gone)
			s.Want(t, "1", "select 1 where mbus4.post($1, 'n=>1') is not null", gone)
			s.Want(t, "1", "select 1 where mbus4.post($1, 'n=>1', iid => 'in') is not null", gone)
			s.Want(t, "f", "select mbus4.is_msg_exists('mine')")
			s.Want(t, "t", "select mbus4.run_on_q($1) is not null", "select mbus4.post('"+gone+"', ($1).data), mbus4.post_temp('"+gone+"', '', 'h=>1')")
			s.Want(t, "2", "select count(*) from mbus4.message") // of r
			s.Want(t, "0", "select count(*) from mbus4.waiting")
			s.Want(t, "", "commit")
			s.Want(t, "2", "select count(*) from mbus4.consumen('r', amt => 9)")
			s.Want(t, "", "select mbus4.add_message('{}') is null from generate_series(1, 0)")
			s.Want(t, "t", "select mbus4.add_message('{}') > 0")
			s.Want(t, "", "call mbus4.process_queue(1, $1)", "select mbus4.post('"+gone+"', 'n=>1')")
			s.Want(t, "0|∅", "select count(*), min(last_error) from mbus4.work_queue")
			s.Want(t, "0", "select count(*) from mbus4.message")
			s.Refused(t, "42704", "select mbus4.consume($1)", gone)
			s.Refused(t, "42704", "select mbus4.drop_queue($1)", gone)
		}
		for _, nowhere := range []any{"temp", "tempx", "xtemp.a", "temp.never", "TEMP.never", "temp.", "temp.it's \"odd\" %", "x" + queue, queue + "x", nil} {
			s.Refused(t, "42704", "select mbus4.post($1, 'n=>1')", nowhere)
			s.Refused(t, "42704", "select mbus4.post($1, 'n=>1', iid => 'mine')", nowhere)
		}

		// A queue that the same statement creates is there. Programs whose texts do not see it are told so.
		past := harness.Connect(t, harness.Direct(), s.Database)
		if said := harness.Refusal(t, past, "22P02", "select mbus4.is_gone('q', '1')").Message; !strings.Contains(said, `1 55000 queue "q" was created by the same statement`) {
			t.Error(said)
		}
		for _, both := range []string{
			"select mbus4.post_temp(mbus4.create_temporary_queue(), 'n=>1') is not null", "select mbus4.post(mbus4.create_temporary_queue(), 'n=>1', 'h=>1') is not null",
			"with q as materialized (select mbus4.create_temporary_queue() as q) select mbus4.post(q, 'n=>1') is not null from q",
		} {
			s.Want(t, "", "begin")
			before := harness.Ask(t, s.Conn, "select count(*)::text from mbus4.message")
			s.Want(t, "t", both)
			s.Want(t, "1", "select count(*) - $1::bigint from mbus4.message", before)
			s.Want(t, "", "rollback")
		}
		mine := harness.Ask(t, s.Conn, "select mbus4.create_temporary_queue()")
		s.Want(t, "t", "select mbus4.post($1, 'n=>1') is not null", mine)
		s.Want(t, "1", "select count(*) from mbus4.consume($1)", mine)

		// A trigger may be older than its queue is dead.
		s.Want(t, "", "select mbus4.create_trigger('q', 'temp.never')")
		s.Want(t, "", "select mbus4.create_trigger('r', $1, 'true')", queue)
		for _, from := range []string{"q", "r"} {
			s.Want(t, "t", "select mbus4.post($1, 'n=>1') is not null", from)
			s.Want(t, "t", "select mbus4.post($1, 'n=>1', 'h=>1') is not null", from)
		}
		s.Want(t, "4", "select count(*) from mbus4.message")
	})
}
