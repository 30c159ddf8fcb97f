package delivery

import (
	"fmt"
	"strings"
	"sync"
	"testing"

	"mbusproxy/integration/internal/forms"
	"mbusproxy/integration/internal/harness"
)

// over waits until the leases of a queue's messages have ended.
func over(t *testing.T, s *forms.Session) {
	t.Helper()
	harness.Await(t, s.Conn, "select count(*) = 0 from mbus4.message where available_at > clock_timestamp() and available_at < clock_timestamp() + interval '30 s'")
}

// A lease hides a message from everybody, until it is acknowledged or ends; then it comes again,
// under its iid, and the late worker's lease holds nothing.
func TestLease(t *testing.T) {
	t.Parallel()
	forms.ForEach(t, []string{"q"}, func(t *testing.T, s *forms.Session) {
		iid := harness.Ask(t, s.Conn, "select mbus4.post('q', 'n=>1', 'own=>h')")
		s.Want(t, "mine", "select mbus4.post('q', 'n=>2', iid => 'mine')")

		s.Want(t, iid+"|1|1|t|q|h", "select iid, data->'n', attempt, leased_until - clock_timestamp() between '20 s' and '30 s', headers->'destination', headers->'own' from mbus4.lease('q')")
		s.Want(t, "mine|1", "select iid, attempt from mbus4.lease('Q', 'default', 9, '1 hour')")
		s.Want(t, "", "select iid from mbus4.lease('q', amt => 9)")
		s.Want(t, "", "select iid from mbus4.consumen('q', amt => 9)")
		s.Want(t, "", "select iid from mbus4.dyn_consume('q', 'true')")
		s.Want(t, "t|t", "select mbus4.is_msg_exists($1), mbus4.is_msg_exists('mine')", iid)
		s.Want(t, "leased|t|attempt 1", "select state, until between now() + '20 s' and now() + '1 min', detail from mbus4.why($1)", iid)
		s.Want(t, "0|0|0|2", "select ready, delayed, waiting, leased from mbus4.consumers where queue = 'q'")
		s.Want(t, "0|0|0|2", "select ready, delayed, waiting, leased from mbus4.queues where queue = 'q'")
		s.Want(t, iid, "select iid from mbus4.take($1)", iid) // for whoever has the rights
		s.Want(t, "mine|h", "select iid, 'h' from mbus4.take_from_q_by_default('mine')")

		// Its end.
		iid = harness.Ask(t, s.Conn, "select mbus4.post('q', 'n=>3')")
		first := harness.Ask(t, s.Conn, "select lease from mbus4.lease('q', lease => '20 ms')")
		over(t, s)
		s.Want(t, "ready", "select state from mbus4.why($1)", iid)
		second := harness.Ask(t, s.Conn, "select lease from mbus4.lease('q', lease => '1 hour')")
		s.Want(t, "f|f|f|∅", "select mbus4.ack($1), mbus4.retry($1, 'x'), mbus4.fail($1, 'x'), mbus4.extend($1, '1 hour')", first)
		s.Want(t, "2|t|t", "select headers->'retry.attempt', headers ? 'retry.first', headers->'retry.last' >= headers->'retry.first' from mbus4.peek($1)", iid)
		third := harness.Ask(t, s.Conn, "select mbus4.extend($1, '30 ms')", second)
		s.Want(t, "f|f", "select mbus4.ack($1), mbus4.retry($2)", second, first)
		over(t, s)
		// A lease that has ended holds as long as nobody else got the message.
		third = harness.Ask(t, s.Conn, "select mbus4.extend($1)", third)
		s.Want(t, "", "select iid from mbus4.consume('q')")
		s.Want(t, "t", "select mbus4.ack($1)", third)
		s.Want(t, "f|f", "select mbus4.ack($1), mbus4.is_msg_exists($2)", third, iid)
		s.Want(t, "f|f|f|∅", "select mbus4.ack($1), mbus4.retry($1::text), mbus4.fail($1), mbus4.extend($1)", nil)

		// Whoever consumes it after the end takes the lease away.
		s.Want(t, "c", "select mbus4.post('q', 'n=>4', iid => 'c')")
		first = harness.Ask(t, s.Conn, "select lease from mbus4.lease('q', lease => '10 ms')")
		over(t, s)
		s.Want(t, "c|1", "select iid, headers->'retry.attempt' from mbus4.consume('q')")
		s.Want(t, "f", "select mbus4.ack($1)", first)

		// In a block it is what the block says.
		s.Want(t, "d", "select mbus4.post('q', 'n=>5', iid => 'd')")
		harness.Ask(t, s.Conn, "begin")
		s.Want(t, "d|1", "select iid, attempt from mbus4.lease('q')")
		harness.Ask(t, s.Conn, "rollback")
		s.Want(t, "d|1", "select iid, attempt from mbus4.lease('q')")
		harness.Ask(t, s.Conn, "begin")
		s.Want(t, "t", "select mbus4.ack((select format('%s.%s.1.%s', consumer_id, id, (extract(epoch from available_at) * 1000000)::bigint) from mbus4.message where iid = 'd'))")
		harness.Ask(t, s.Conn, "rollback")
		s.Want(t, "t", "select mbus4.is_msg_exists('d')")
		s.Want(t, "d|t", "select iid, data is not null from mbus4.take('d')")
	})
}

// Several at once: each in its order, for each row of a set, and acknowledged together.
func TestLeaseMany(t *testing.T) {
	t.Parallel()
	forms.ForEach(t, []string{"q", "r"}, func(t *testing.T, s *forms.Session) {
		s.Want(t, "9", "select count(mbus4.post(q, hstore('n', n::text), iid => q || n)) from generate_series(1, 9) n, (values ('q')) q (q)")
		s.Want(t, "4", "select count(mbus4.post('r', hstore('n', n::text), iid => 'r' || n)) from generate_series(1, 4) n")
		s.Want(t, "q1,q2,q3", "select string_agg(iid, ',') from mbus4.lease('q', amt => 3)")
		s.Want(t, "a|q4\nb|r1\nc|q5", "select n, (l).iid from (select n, mbus4.lease(q, lease => '1 hour') as l from (values ('a', 'q'), ('b', 'r'), ('c', 'q')) v (n, q)) x order by n")
		s.Want(t, "6|t", "select count(*), bool_and(attempt = 1) from (select (mbus4.lease(q, 'default', $1)).* from (values ('q'), ('r')) v (q)) l", "3")
		s.Want(t, "q9", "select string_agg(iid, ',') from mbus4.lease('q', amt => null)")
		harness.Ask(t, s.Conn, "update mbus4.message set available_at = clock_timestamp()")
		s.Want(t, "13", "select count(*) from mbus4.message")
		harness.Ask(t, s.Conn, "create table if not exists held (lease text)")
		harness.Ask(t, s.Conn, "insert into held select lease from mbus4.lease('q', amt => 9)")
		s.Want(t, "9|9", "select count(*), count(distinct lease) from held")
		s.Want(t, "9", "select count(*) from (select mbus4.ack(lease) as a from held) x where a")
		s.Want(t, "0", "select count(*) from (select mbus4.ack(lease) as a from held) x where a")
		harness.Ask(t, s.Conn, "truncate held; insert into held select l.lease from mbus4.lease('r', amt => 1) l cross join generate_series(1, 2)")
		s.Want(t, "1", "select count(*) from (select mbus4.ack(lease) as a from held) x where a")
		harness.Ask(t, s.Conn, "drop table held")
		s.Want(t, "3", "select count(*) from mbus4.consumen('r', amt => 9)")
	})
}

// retry brings the message back after the policy's pause, or one that is given, and the last
// attempt ends in dmq; so do leases that end.
func TestLeaseRetries(t *testing.T) {
	t.Parallel()
	forms.ForEach(t, []string{"q"}, func(t *testing.T, s *forms.Session) {
		lease := func(attempt string) string {
			t.Helper()
			at, l, _ := strings.Cut(harness.Ask(t, s.Conn, "select attempt, lease from mbus4.lease('q')"), "|")
			if at != attempt {
				t.Errorf("attempt %q, want %s", at, attempt)
			}
			return l
		}
		again := func() {
			t.Helper()
			harness.Ask(t, s.Conn, "update mbus4.message set available_at = clock_timestamp() where available_at > clock_timestamp()")
		}
		iid := harness.Ask(t, s.Conn, "select mbus4.post('q', 'n=>1')")
		for i, pause := range []string{"1 s", "2 s", "4 s"} {
			l := lease(fmt.Sprint(i + 1))
			before := harness.Ask(t, s.Conn, "select clock_timestamp()")
			s.Want(t, "t", "select mbus4.retry($1, $2)", l, fmt.Sprint("bad ", i))
			s.Want(t, "t", "select available_at between $1::timestamptz + $2::interval * 0.9 and clock_timestamp() + $2::interval from mbus4.message where iid = $3", before, pause, iid)
			s.Want(t, "delayed|0|1", "select (mbus4.why($1)).state, leased, delayed from mbus4.consumers where queue = 'q'", iid)
			again()
		}
		s.Want(t, "t", "select mbus4.retry(lease => $1, delay => '1 hour')", lease("4"))
		s.Want(t, "delayed|t|bad 2", "select w.state, w.until between now() + '59 min' and now() + '61 min', m.headers->'retry.error' from mbus4.why($1) w, mbus4.peek($1) m", iid)
		again()
		s.Want(t, "", "select mbus4.alter_consumer('q', max_attempts => 5, backoff => '10 min', max_backoff => '10 min', jitter => 0, lease => '2 min')")
		s.Want(t, "t", "select leased_until between clock_timestamp() + '1 min 55 s' and clock_timestamp() + '2 min' from mbus4.lease('q')")
		again()
		// The fifth has ended with its lease.
		s.Want(t, "", "select iid from mbus4.lease('q')")
		s.Want(t, iid+"|5|bad 2|q|default|t|t", "select iid, headers->'retry.attempt', headers->'dmq.error', headers->'destination', headers->'dmq.consumer', headers ? 'retry.first', headers ? 'retry.last' from mbus4.consume('dmq')")

		s.Want(t, "ends", "select mbus4.post('q', 'n=>2', iid => 'ends')")
		s.Want(t, "", "select mbus4.alter_consumer('q', max_attempts => 1)")
		lease("1")
		again()
		s.Want(t, "next", "select mbus4.post('q', 'n=>3', iid => 'next')")
		s.Want(t, "next", "select iid from mbus4.lease('q', amt => 1)")
		s.Want(t, "ends|lease ended|1", "select iid, headers->'dmq.error', headers->'retry.attempt' from mbus4.consume('dmq')")
		again()
		s.Want(t, "next", "select iid from mbus4.consume('q')") // to which attempts mean nothing

		s.Want(t, "last", "select mbus4.post('q', 'n=>3', iid => 'last')")
		s.Want(t, "t", "select mbus4.retry($1, 'no')", lease("1"))
		s.Want(t, "last|no", "select iid, headers->'dmq.error' from mbus4.consume('dmq')")
		s.Want(t, "fails", "select mbus4.post('q', 'n=>4', iid => 'fails')")
		s.Want(t, "t", "select mbus4.fail($1, 'never')", lease("1"))
		s.Want(t, "fails|never|1", "select iid, headers->'dmq.error', headers->'retry.attempt' from mbus4.consume('dmq')")
	})
}

// A consumer's retry puts back what its transaction consumed, for it alone.
func TestRetryConsumed(t *testing.T) {
	t.Parallel()
	forms.ForEach(t, []string{"q"}, func(t *testing.T, s *forms.Session) {
		s.Want(t, "", "select mbus4.create_consumer('q', 'c')")
		s.Want(t, "", "select mbus4.alter_consumer('q', 'c', max_attempts => 3, backoff => '1 min', max_backoff => '90 s', jitter => 0)")
		iid := harness.Ask(t, s.Conn, "select mbus4.post('q', 'n=>1', 'own=>h', 'p=>1')")
		before := harness.Ask(t, s.Conn, "select id, added, iid, headers - 'enqueue_time'::text, properties, data from mbus4.consume('q')")
		for i, pause := range []string{"60", "90"} {
			s.Want(t, "t", "select mbus4.retry(m, $1, cname => 'c') from mbus4.consume('q', 'c') m", fmt.Sprint("bad ", i))
			s.Want(t, fmt.Sprint(i+1)+"|bad "+fmt.Sprint(i)+"|delayed|t", `select m.headers->'retry.attempt', m.headers->'retry.error', w.state, w.until between now() + interval '1 s' * ($2::int - 20) and now() + interval '1 s' * $2::int
				from mbus4.peek($1) m, mbus4.why($1) w`, iid, pause)
			harness.Ask(t, s.Conn, "update mbus4.message set available_at = clock_timestamp()")
		}
		harness.Ask(t, s.Conn, "begin")
		s.Want(t, before, "select id, added, iid, headers - array['enqueue_time', 'retry.attempt', 'retry.first', 'retry.last', 'retry.error'], properties, data from mbus4.consume('q', 'c')")
		harness.Ask(t, s.Conn, "rollback")
		s.Want(t, "t", "select mbus4.retry(m::mbus4.qt_model, error => 'enough', cname => 'c') from mbus4.consume('q', 'c') m")
		s.Want(t, iid+"|3|enough|q|c|h", "select iid, headers->'retry.attempt', headers->'dmq.error', headers->'destination', headers->'dmq.consumer', headers->'own' from mbus4.peek($1)", iid)

		// What was not consumed is not put back.
		s.Want(t, "there", "select mbus4.post('q', 'n=>2', iid => 'there')")
		s.Want(t, "f", "select mbus4.retry(m, 'x', cname => 'default') from mbus4.peek('there') m")
		placed := harness.Ask(t, s.Conn, "select mbus4.post('q', 'n=>2')")
		s.Want(t, "f", "select mbus4.retry(m, 'x', cname => 'default') from mbus4.peek($1) m", placed)
		// Nor is what was consumed for another consumer, which must be named: else its message
		// would be gone with the commit.
		s.Refused(t, "42725", "select mbus4.retry(m, 'x') from mbus4.consume('q', 'c') m")
		s.Refused(t, "42725", "select mbus4.retry(m, 'x') from mbus4.peek($1) m", placed)
		s.Want(t, "there", "select iid from mbus4.consume('q', 'c')")
		s.Want(t, "f", "select mbus4.retry(null::mbus4.qt_model, 'x')")
		s.Want(t, "1|1|2", "select count(*) filter (where consumer_id = 1), count(*) filter (where headers ? 'retry.attempt'), count(distinct iid) from mbus4.message where iid is not null")
		// By the value itself, as drivers send it.
		row := harness.Ask(t, s.Conn, "select m from mbus4.consume('q') m")
		s.Want(t, "t", "select mbus4.retry($1::mbus4.qt_model, 'x', '1 hour')", row)
		s.Want(t, "1", "select headers->'retry.attempt' from mbus4.take_from_q_by_default('there')")
	})
}

// redrive puts back what came from a queue, with its attempts as new.
func TestRedrive(t *testing.T) {
	t.Parallel()
	forms.ForEach(t, []string{"q", "r", "gone"}, func(t *testing.T, s *forms.Session) {
		s.Want(t, "", "select mbus4.create_consumer('q', 'c')")
		dead := func(queue, cname, iid string) {
			t.Helper()
			s.Want(t, iid, "select mbus4.post($1, hstore('iid', $2), 'own=>h', iid => $2)", queue, iid)
			s.Want(t, "t", "select mbus4.fail(lease, 'bad') from mbus4.lease($1, $2)", queue, cname)
		}
		dead("q", "c", "a")
		s.Want(t, "a", "select iid from mbus4.consume('q')")
		dead("r", "default", "b")
		dead("r", "default", "c")
		dead("gone", "default", "d")
		s.Want(t, "", "select mbus4.drop_queue('gone')")
		s.Want(t, "0", "select mbus4.redrive('q', $1)", "t.iid = 'b'")
		s.Want(t, "1", "select mbus4.redrive('r', 't.headers->''dmq.error'' = ''bad''', 1)")
		s.Want(t, "b|1", "select iid, attempt from mbus4.lease('r', amt => 9)")
		s.Want(t, "1", "select mbus4.redrive(selector => $1)", "t.data->'iid' = 'a'")
		s.Want(t, "", "select iid from mbus4.consume('q')")
		s.Want(t, "a|h|f|f|t", "select iid, headers->'own', headers ? 'dmq.error', headers ? 'retry.attempt', headers->'seenby' not like '%,%' from mbus4.consume('q', 'c')")
		s.Want(t, "1", "select mbus4.redrive()")
		s.Want(t, "c", "select iid from mbus4.lease('r')")
		s.Want(t, "0", "select mbus4.redrive(amt => 5)")
		s.Want(t, "d", "select iid from mbus4.consume('dmq')")

		// Of two consumers under one iid: dmq has both, and both come back.
		s.Want(t, "two", "select mbus4.post('q', '', iid => 'two')")
		s.Want(t, "t", "select mbus4.fail(lease, 'bad') from mbus4.lease('q', 'c')")
		s.Want(t, "t", "select mbus4.fail(lease, 'bad') from mbus4.lease('q')")
		s.Want(t, "c|∅\ndefault|two", "select headers->'dmq.consumer', headers->'dmq.iid' from mbus4.dmq order by 1")
		s.Want(t, "2", "select mbus4.redrive('q')")
		s.Want(t, "two|two", "select a.iid, b.iid from mbus4.consume('q') a, mbus4.consume('q', 'c') b")
		// It waits again for what is undelivered, and takes the place of what has expired.
		s.Want(t, "w", "select mbus4.post('r', '', 'consume_after=>{first}', iid => 'w')")
		s.Want(t, "t", "select mbus4.fail(lease, 'bad') from mbus4.lease('r')")
		s.Want(t, "first", "select mbus4.post('q', '', iid => 'first')")
		s.Want(t, "w", "select mbus4.post('r', '', expires => '2001-01-01', iid => 'w')")
		s.Want(t, "1", "select mbus4.redrive('r')")
		s.Want(t, "waiting|{first}", "select state, waits_for from mbus4.why('w')")
		s.Want(t, "", "select iid from mbus4.consume('r')")
		s.Want(t, "first|first", "select a.iid, b.iid from mbus4.consume('q') a, mbus4.consume('q', 'c') b")
		s.Want(t, "w", "select iid from mbus4.consume('r', wait => '20 s')")
		// What was posted to dmq has nowhere to go, and what comes under a taken iid waits there.
		s.Want(t, "x", "select mbus4.post_dmq('', iid => 'x')")
		s.Want(t, "0", "select mbus4.redrive()")
		s.Want(t, "x", "select iid from mbus4.take('x')")
	})
}

// Who waits for a message that is leased goes on waiting through its attempts and in dmq, until it is acknowledged.
func TestLeaseOrder(t *testing.T) {
	t.Parallel()
	forms.ForEach(t, []string{"q", "r"}, func(t *testing.T, s *forms.Session) {
		for _, given := range []any{nil, "mine"} {
			iid := harness.Ask(t, s.Conn, "select mbus4.post('q', 'n=>1', iid => $1)", given)
			s.Want(t, "waits", "select mbus4.post('r', '', $1, iid => 'waits')", harness.WaitFor(iid))
			lease := harness.Ask(t, s.Conn, "select lease from mbus4.lease('q')")
			s.Want(t, "", "select iid from mbus4.consumen('r', amt => 9)")
			s.Want(t, "t", "select mbus4.retry($1, 'x', '0')", lease)
			s.Want(t, "", "select iid from mbus4.consumen('r', amt => 9)")
			lease = harness.Ask(t, s.Conn, "select lease from mbus4.lease('q')")
			s.Want(t, "t", "select mbus4.fail($1, 'x')", lease)
			s.Want(t, "", "select iid from mbus4.consumen('r', amt => 9)")
			s.Want(t, "1", "select mbus4.redrive('q')")
			s.Want(t, "", "select iid from mbus4.consumen('r', amt => 9)")
			lease = harness.Ask(t, s.Conn, "select lease from mbus4.lease('q')")
			s.Want(t, "t", "select mbus4.ack($1)", lease)
			harness.Await(t, s.Conn, "select exists (select from mbus4.consume('r'))")
		}
	})
}

// The attempt of a worker that dies counts, and two workers never have the same message.
func TestLeaseWorkers(t *testing.T) {
	t.Parallel()
	database := harness.NewQueueDatabase(t, "q")
	conn := harness.Connect(t, harness.Proxied(), database)
	harness.Ask(t, conn, "select mbus4.post('q', 'n=>1', iid => 'killed')")
	worker := harness.Connect(t, harness.Proxied(), database)
	harness.Want(t, worker, "killed|1", "select iid, attempt from mbus4.lease('q', lease => '50 ms')")
	if err := harness.Abort(worker); err != nil {
		t.Fatal(err)
	}
	harness.Await(t, conn, "select exists (select from mbus4.lease('q', lease => '1 hour') where iid = 'killed' and attempt = 2)")
	// One that dies in its transaction has had none.
	harness.Ask(t, conn, "select mbus4.post('q', 'n=>1', iid => 'open')")
	worker = harness.Connect(t, harness.Proxied(), database)
	harness.Ask(t, worker, "begin")
	harness.Want(t, worker, "open|1", "select iid, attempt from mbus4.lease('q')")
	if err := harness.Abort(worker); err != nil {
		t.Fatal(err)
	}
	harness.Await(t, conn, "select exists (select from mbus4.lease('q', lease => '1 hour') where iid = 'open' and attempt = 1)")

	const workers, messages = 6, 300
	harness.Ask(t, conn, "create table done (iid text primary key)")
	harness.Ask(t, conn, fmt.Sprintf("select count(mbus4.post('q', '')) from generate_series(1, %d)", messages))
	var wg sync.WaitGroup
	for w := range workers {
		c := harness.Connect(t, harness.Proxied(), database)
		wg.Go(func() {
			for {
				l := harness.Ask(t, c, "select iid, lease from mbus4.lease('q', amt => $1, lease => '1 hour')", 1+w%2)
				if l == "" {
					return
				}
				for one := range strings.Lines(l) {
					iid, lease, _ := strings.Cut(strings.TrimSpace(one), "|")
					harness.Ask(t, c, "insert into done values ($1)", iid)
					harness.Want(t, c, "t", "select mbus4.ack($1)", lease)
				}
			}
		})
	}
	wg.Wait()
	harness.Want(t, conn, fmt.Sprint(messages), "select count(*) from done")
}

// A lease makes the columns that its statement reads: each of them by itself is what it is in the row as a whole.
func TestLeaseColumns(t *testing.T) {
	t.Parallel()
	forms.ForEach(t, []string{"q"}, func(t *testing.T, s *forms.Session) {
		s.Want(t, "m", "select mbus4.post('q', 'n=>1', 'own=>h', 'p=>2', expires => (now() + interval '1 day')::timestamp, iid => 'm')")
		ask := func(query string) string {
			harness.Ask(t, s.Conn, "begin")
			defer harness.Ask(t, s.Conn, "rollback")
			return harness.Ask(t, s.Conn, query)
		}
		for _, c := range []string{"id", "added", "iid", "delayed_until", "expires", "received", "headers", "properties", "data", "payload", "attempt", "lease", "leased_until"} {
			alone, whole := ask("select "+c+" from mbus4.lease('q')"), ask("select (mbus4.lease('q'))."+c)
			if changes := c == "headers" || c == "lease" || c == "leased_until"; alone == "" || whole == "" || !changes && alone != whole {
				t.Errorf("%s: %q alone, %q in the row", c, alone, whole)
			}
		}
		for query, want := range map[string]string{
			"select concat(iid, data, attempt) from (select l.attempt, iid, l.data from mbus4.lease('q') l) r": "m\"n\"=>\"1\"1",
			"select c from mbus4.lease('q') as l (a, b, c)":                                                    "m",
			"select count(*) from (select expires from mbus4.lease('q')) r":                                    "1",
			"select headers->'own' from mbus4.lease('q')":                                                      "h",
		} {
			if got := ask(query); got != want {
				t.Errorf("%s: %q, not %q", query, got, want)
			}
		}
	})
}

// The times of attempts have one form, whichever statement counts them, and whatever the session's
// DateStyle is. One in ten ends with a zero, so each is written often.
func TestAttemptTimes(t *testing.T) {
	t.Parallel()
	const often = 40
	database := harness.NewQueueDatabase(t, "q")
	conn := harness.Connect(t, harness.Proxied(), database)
	harness.Ask(t, conn, "select mbus4.post('q', 'n=>1') from generate_series(1, 1000)")
	for _, style := range []string{"iso, dmy", "german"} {
		harness.Ask(t, conn, "set datestyle = '"+style+"'")
		for name, statement := range map[string]string{
			"one":       "select iid from mbus4.lease('q')",
			"amount":    "select iid from mbus4.lease('q', amt => 2)",
			"in place":  "select (mbus4.lease(q)).iid from (values ('q'), ('q')) v (q)",
			"put back":  "select mbus4.retry(m, 'x') from mbus4.consume('q') m",
			"and again": "with l as materialized (select lease from mbus4.lease('q')) select mbus4.retry(lease, 'x') from l",
		} {
			before := harness.Ask(t, conn, "select clock_timestamp()")
			for range often {
				harness.Ask(t, conn, statement)
			}
			got := harness.Ask(t, conn, `select count(*) filter (where s.told ~ '^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d\.\d{6}$'
					and s.told::timestamp between $1::timestamptz::timestamp and clock_timestamp()::timestamp) >= 2 * $2::int, count(*) - count(*) filter (where s.told ~ '\.\d{6}$')
				from mbus4.message m, unnest(array[m.headers->'retry.first', m.headers->'retry.last']) s (told) where m.headers ? 'retry.attempt'`, before, often)
			if got != "t|0" {
				t.Errorf("%s, %s: %s, want t|0", name, style, got)
			}
			harness.Ask(t, conn, "delete from mbus4.message where headers ? 'retry.attempt'")
		}
	}
}

// A lease of a queue or consumer that has been dropped holds nothing, before its messages have been swept, too.
func TestLeaseOfDropped(t *testing.T) {
	t.Parallel()
	forms.ForEach(t, []string{"q"}, func(t *testing.T, s *forms.Session) {
		s.Want(t, "", "select mbus4.create_consumer('q', 'c')")
		s.Want(t, "9", "select count(mbus4.post('q', 'n=>1')) from generate_series(1, 9)")
		for _, drop := range []string{"select mbus4.drop_consumer('q', 'c')", "select mbus4.drop_queue('q')"} {
			harness.Ask(t, s.Conn, "begin")
			harness.Ask(t, s.Conn, "create temporary table l on commit drop as select array_agg(lease order by id) as l from mbus4.lease('q', 'c', 9)")
			s.Want(t, "t", "select mbus4.ack($1)", harness.Ask(t, s.Conn, "select l[1] from l"))
			s.Want(t, "t|t", "select mbus4.ack(l[2]), mbus4.ack(l[3]) from l")
			harness.Ask(t, s.Conn, drop)
			s.Want(t, "f", "select mbus4.ack($1)", harness.Ask(t, s.Conn, "select l[4] from l"))
			s.Want(t, "f|f", "select mbus4.ack(l[5]), mbus4.ack(l[6]) from l")
			s.Want(t, "∅", "select mbus4.extend($1, '1 hour')", harness.Ask(t, s.Conn, "select l[7] from l"))
			s.Want(t, "f", "select mbus4.retry($1, 'x')", harness.Ask(t, s.Conn, "select l[8] from l"))
			s.Want(t, "f", "select mbus4.fail($1, 'x')", harness.Ask(t, s.Conn, "select l[9] from l"))
			harness.Ask(t, s.Conn, "rollback")
		}
	})
}
