package calls

import (
	"strings"
	"testing"

	"mbusproxy/integration/internal/forms"
	"mbusproxy/integration/internal/harness"
)

// leasedColumns is what Describe says of a leased message.
const leasedColumns = messageColumns + ", payload jsonb, attempt integer, lease text, leased_until timestamp with time zone"

// leasesLeft is a query for the messages that a case leaves, with their attempts.
const leasesLeft = `select string_agg(concat_ws(':', c.qname, c.name, m.iid, m.headers->'retry.attempt', nullif(m.available_at > now(), false)), ' ' order by c.qname, c.name, m.iid)
	from mbus4.message m join mbus4.consumer c on c.id = m.consumer_id`

// token finds a lease by its message.
const token = `(select format('%s.%s.%s.%s', m.consumer_id, m.id, m.headers->'retry.attempt', (extract(epoch from m.available_at) * 1000000)::bigint)
	from mbus4.message m where m.iid = $1)`

func TestFunctionLease(t *testing.T) {
	const signature = "mbus4.lease(qname text, cname text default 'default', amt integer default '1', lease interval default null, wait interval default null) returns setof mbus4.leased"
	callTable{
		queues:  []string{"q", "r"},
		setup:   "select mbus4.post('q', hstore('n', n::text), iid => 'm' || n) from generate_series(1, 3) n; create table t (q text); insert into t values ('q'), ('r')",
		effect:  leasesLeft,
		columns: leasedColumns,
		cases: []callCase{
			gives(" > q:default:m1 q:default:m2 q:default:m3", "select * from mbus4.lease('r')"),
			gives("m1|1 > q:default:m1:1:t q:default:m2 q:default:m3", "select iid, attempt from mbus4.lease('q')"),
			gives("m1|t > q:default:m1:1:t q:default:m2 q:default:m3", "select iid, leased_until between now() + '59 min' and clock_timestamp() + '1 hour' from mbus4.lease($1, $2, $3, $4)", "Q", "Default", 1, "01:00:00"),
			gives("m1\nm2 > q:default:m1:1:t q:default:m2:1:t q:default:m3", "select iid from mbus4.lease(lease => '1 min', amt => $1, qname => 'q')", 2),
			gives("3 > q:default:m1:1:t q:default:m2:1:t q:default:m3:1:t", "select count(*) from mbus4.lease('q', amt => null)"),
			gives("m1 > q:default:m1:1:t q:default:m2 q:default:m3", "select (mbus4.lease('q')).iid"),
			gives("q|m1 > q:default:m1:1:t q:default:m2 q:default:m3", "select q, (mbus4.lease(q)).iid from t"),
			gives("1 > q:default:m1:1:t q:default:m2 q:default:m3", "select 1 where exists (select from mbus4.lease('q'))"),
			gives(" > q:default:m1 q:default:m2 q:default:m3", "select iid from mbus4.lease('q', amt => 0)"),
			fails("42704", `queue "nowhere" does not exist`, "select * from mbus4.lease('nowhere')"),
			fails("42704", `queue "q" has no consumer "nobody"`, "select * from mbus4.lease('q', 'nobody')"),
			fails("2201W", "must not be negative", "select * from mbus4.lease('q', amt => -1)"),
			fails("22023", "a lease must last between 1 ms and 365 days, and not 00:00:00", "select * from mbus4.lease('q', lease => '0')"),
			fails("22023", "null is what mbus4.alter_consumer has set", "select * from mbus4.lease('q', lease => $1)", "-00:00:01"),
			fails("22023", "and not 366 days", "select * from t, mbus4.lease(t.q, lease => '366 days')"),
			fails("22023", "a lease must last between", "select * from mbus4.lease('r', lease => '-1 s')"),
			fails("22023", "a lease must last between", "select * from mbus4.lease('r', lease => $1)", "00:00:00"),
			fails("22023", "a lease must last between", "select * from mbus4.lease('r', amt => 2, lease => '366 days')"),
			fails("22023", "a lease must last between", "select * from mbus4.lease('r', lease => '366 days', wait => '1 ms')"),
			fails("42883", signature, "select * from mbus4.lease()"),
			fails("42883", signature, "select * from mbus4.lease('q', 'default', 1, 30)"),
			fails("42883", signature, "select * from mbus4.lease('q', waits => '1 s')"),
		},
	}.run(t)
}

// leasedOne is a message under a lease of its first attempt.
const leasedOne = "select mbus4.post('q', 'n=>1', iid => 'm1'); select iid from mbus4.lease('q', lease => '1 hour')"

func TestFunctionAck(t *testing.T) {
	callTable{
		queues: []string{"q"}, before: leasedOne, effect: leasesLeft, columns: "ack boolean",
		cases: []callCase{
			gives("f > q:default:m1:1:t", "select mbus4.ack('2.1.1.1700000000000000')"),
			gives("t > ∅", "select mbus4.ack("+token+")", "m1"),
			gives("t > ∅", "select mbus4.ack(lease => "+token+")", "m1"),
			gives("t > ∅", "select a from mbus4.ack("+token+") a", "m1"),
			gives("t\nf > ∅", "select mbus4.ack(x) from (select "+token+" as x from generate_series(1, 2)) t", "m1"),
			gives("1 > ∅", "select 1 where mbus4.ack("+token+")", "m1"),
			gives("f > q:default:m1:1:t", "select mbus4.ack($1)", nil),
			gives("f > q:default:m1:1:t", "select mbus4.ack(replace("+token+", '.1.', '.2.'))", "m1"),
			fails("22023", `"m1" is not a lease`, "select mbus4.ack($1)", "m1"),
			fails("22023", "Give the column lease", "select mbus4.ack('1.2.3.')"),
			gives("f > q:default:m1:1:t", "select mbus4.ack('123456789012345678.123456789012345678.12345678.1700000000000000')"),
			fails("22023", "is not a lease", "select mbus4.ack('1234567890123456789.1.1.1700000000000000')"),
			fails("22023", "is not a lease", "select mbus4.ack('12345678901234567890123456789.1.1.1700000000000000')"),
			fails("22023", "is not a lease", "select mbus4.ack('1..1.1700000000000000')"),
			fails("22023", "is not a lease", "select mbus4.ack('.1.1.1700000000000000')"),
			fails("22023", "is not a lease", "select mbus4.ack('1.1.1.170000000000000')"),
			fails("22023", "is not a lease", "select mbus4.ack('1.1.1.17000000000000000')"),
			fails("22023", "is not a lease", "select mbus4.ack($1)", "1.1.1.17000000000000.0"),
			fails("22023", "is not a lease", "select mbus4.ack($1)", "1.1.x.1700000000000000"),
			fails("22023", "is not a lease", "select mbus4.ack($1)", "1.1.\u0663.1700000000000000"),
			fails("42883", "mbus4.ack(lease text) returns boolean", "select mbus4.ack()"),
			fails("42883", "mbus4.ack(lease text) returns boolean", "select mbus4.ack(7)"),
		},
	}.run(t)
}

func TestFunctionRetry(t *testing.T) {
	const signature = "mbus4.retry(lease text or mbus4.qt_model, error text default null, delay interval default null, cname text default null) returns boolean"
	callTable{
		queues: []string{"q"}, before: leasedOne, columns: "retry boolean",
		effect: "select string_agg(concat_ws(':', iid, headers->'retry.attempt', headers->'retry.error', available_at = delayed_until, date_trunc('minute', available_at - clock_timestamp())), ' ') from mbus4.message",
		cases: []callCase{
			gives("t > m1:1:bad:t:00:00:00", "select mbus4.retry("+token+", 'bad')", "m1"),
			gives("t > m1:1:t:00:00:00", "select mbus4.retry("+token+")", "m1"),
			gives("t > m1:1:bad:t:02:00:00", "select mbus4.retry(delay => '2 h 30 s', error => $2, lease => "+token+")", "m1", "bad"),
			gives("f > m1:1:00:59:00", "select mbus4.retry('2.1.1.1700000000000000', 'bad')"),
			gives("f > m1:1:00:59:00", "select mbus4.retry($1, 'bad')", nil),
			gives("1 > m1:1:bad:t:00:00:00", "select 1 where mbus4.retry("+token+", 'bad')", "m1"),
			gives("t > m1:2:bad:t:02:00:00", "select mbus4.retry(m, 'bad', '2 h 30 s') from mbus4.take('m1') m"),
			gives("t > m1:2:bad:t:02:00:00", "select mbus4.retry(message => m, error => 'bad', delay => '2 h 30 s', cname => 'Default') from mbus4.take($1) m", "m1"),
			gives("t > m1:2:bad:t:02:00:00", "select mbus4.retry((select m from mbus4.take('m1') m), 'bad', '2 h 30 s')"),
			fails("22023", "delay must be between 0 and 365 days, and is -00:00:01", "select mbus4.retry("+token+", delay => '-1 s')", "m1"),
			fails("22023", "cname must not be given together with a lease", "select mbus4.retry("+token+", cname => 'c')", "m1"),
			fails("22023", `"m1" is not a lease`, "select mbus4.retry('m1', 'x')"),
			gives("f > m1:1:00:59:00", "select mbus4.retry(m, 'bad') from mbus4.take('nothing') m"),
			gives("f > m1:1:00:59:00", "select mbus4.retry(m, 'bad') from mbus4.peek('m1') m"),
			gives("f > m1:1:00:59:00", "select mbus4.retry(null::mbus4.qt_model, 'bad')"),
			fails("22004", "this row is not a message", "select mbus4.retry(row(null, null, 'i', null, null, null, 'destination=>q', null, null)::mbus4.qt_model)"),
			fails("42704", `queue "q" has no consumer "nobody"`, "select mbus4.retry(m, cname => 'nobody') from mbus4.take('m1') m"),
			fails("42883", signature, "select mbus4.retry()"),
			fails("42883", signature, "select mbus4.retry(7)"),
			fails("42883", signature, "select mbus4.retry('1.2.3.4', 'x', 5)"),
		},
	}.run(t)
}

func TestFunctionFail(t *testing.T) {
	callTable{
		queues: []string{"q"}, before: leasedOne, columns: "fail boolean",
		effect: "select string_agg(concat_ws(':', c.qname, iid, headers->'dmq.error'), ' ') from mbus4.message m join mbus4.consumer c on c.id = m.consumer_id",
		cases: []callCase{
			gives("f > q:m1", "select mbus4.fail('2.1.1.1700000000000000', 'bad')"),
			gives("t > dmq:m1:bad", "select mbus4.fail("+token+", 'bad')", "m1"),
			gives("t > dmq:m1:failed without an error", "select mbus4.fail("+token+")", "m1"),
			gives("t > dmq:m1:bad", "select f from mbus4.fail(error => $2, lease => "+token+") f", "m1", "bad"),
			gives("f > q:m1", "select mbus4.fail($1)", nil),
			fails("22023", `"m1" is not a lease`, "select mbus4.fail('m1')"),
			fails("42883", "mbus4.fail(lease text, error text default null) returns boolean", "select mbus4.fail()"),
		},
	}.run(t)
}

func TestFunctionExtend(t *testing.T) {
	callTable{
		queues: []string{"q"}, before: leasedOne, columns: "extend text",
		effect: "select string_agg(concat_ws(':', iid, headers->'retry.attempt', date_trunc('minute', available_at - now() + '1 s')), ' ') from mbus4.message",
		cases: []callCase{
			gives("∅ > m1:1:01:00:00", "select mbus4.extend('2.1.1.1700000000000000')"),
			gives("t > m1:1:05:00:00", "select mbus4.extend("+token+", '5 h') <> "+token, "m1"),
			gives("t > m1:1:00:00:00", "select e is not null from mbus4.extend(duration => $2, lease => "+token+") e", "m1", "00:00:50"),
			gives("∅ > m1:1:01:00:00", "select mbus4.extend($1)", nil),
			fails("22023", "a lease must last between", "select mbus4.extend("+token+", '0')", "m1"),
			fails("22023", `"m1" is not a lease`, "select mbus4.extend('m1')"),
			fails("42883", "mbus4.extend(lease text, duration interval default null) returns text", "select mbus4.extend()"),
		},
	}.run(t)
}

func TestFunctionAlterConsumer(t *testing.T) {
	callTable{
		queues: []string{"q"}, columns: "alter_consumer void",
		effect: "select concat_ws(' ', max_attempts, backoff, max_backoff, jitter, lease) from mbus4.consumer where qname = 'q'",
		cases: []callCase{
			gives(" > ", "select mbus4.alter_consumer('q')"),
			gives(" > 3 00:00:05 00:01:00 0.5 00:10:00", "select mbus4.alter_consumer($1, $2, $3, $4, $5, $6, $7)", "Q", "Default", 3, "00:00:05", "00:01:00", "0.5", "00:10:00"),
			gives(" > 7 00:00:00 00:00:02", "select mbus4.alter_consumer('q', max_attempts => 7, backoff => '0', lease => '2 s')"),
			fails("42704", `queue "nowhere" does not exist`, "select mbus4.alter_consumer('nowhere')"),
			fails("42704", `queue "q" has no consumer "nobody"`, "select mbus4.alter_consumer('q', 'nobody')"),
			fails("22023", "max_attempts must be between 1 and 1000000, and is 0", "select mbus4.alter_consumer('q', max_attempts => 0)"),
			fails("22023", "What is not given stays as it is.", "select mbus4.alter_consumer('q', backoff => '-1 s')"),
			fails("22023", "max_backoff must be between 0 and 365 days", "select mbus4.alter_consumer('q', max_backoff => '366 days')"),
			fails("22023", "backoff must not be longer than max_backoff, and is 02:00:00 to 01:00:00", "select mbus4.alter_consumer('q', backoff => '2 hours')"),
			fails("22023", "jitter must be between 0 and 1, and is 1.5", "select mbus4.alter_consumer('q', jitter => 1.5)"),
			fails("22023", "jitter must be between 0 and 1, and is NaN", "select mbus4.alter_consumer('q', jitter => 'NaN')"),
			fails("22023", "lease must be between 1 ms and 365 days, and is 00:00:00", "select mbus4.alter_consumer('q', lease => '0')"),
			fails("42883", "mbus4.alter_consumer(qname text, cname text default 'default', max_attempts integer default null", "select mbus4.alter_consumer()"),
		},
	}.run(t)
}

func TestFunctionRedrive(t *testing.T) {
	const signature = "mbus4.redrive(qname text default null, selector text default null, amt integer default null) returns bigint"
	callTable{
		queues: []string{"q", "r"}, columns: "redrive bigint",
		setup: "select mbus4.post(q, hstore('n', n), iid => q || n) from unnest(array['q', 'r']) q, unnest(array['1', '2']) n;" +
			"select mbus4.fail((mbus4.lease(q)).lease, 'bad') from unnest(array['q', 'r', 'q', 'r']) q; select mbus4.post_dmq('', iid => 'stays')",
		effect: "select string_agg(concat_ws(':', c.qname, iid), ' ' order by c.qname, iid) from mbus4.message m join mbus4.consumer c on c.id = m.consumer_id where iid <> 'stays'",
		cases: []callCase{
			gives("4 > q:q1 q:q2 r:r1 r:r2", "select mbus4.redrive()"),
			gives("2 > dmq:r1 dmq:r2 q:q1 q:q2", "select mbus4.redrive($1)", "Q"),
			gives("1 > dmq:q2 dmq:r1 dmq:r2 q:q1", "select mbus4.redrive('q', 't.data->''n'' = ''1''')"),
			gives("2 > dmq:q1 dmq:r1 q:q2 r:r2", "select mbus4.redrive(selector => $1)", "t.data->'n' = '2'"),
			gives("0 > dmq:q1 dmq:q2 dmq:r1 dmq:r2", "select mbus4.redrive(amt => $1)", 0),
			gives("0 > dmq:q1 dmq:q2 dmq:r1 dmq:r2", "select mbus4.redrive('Q', selector => $1)", "false"),
			fails("42704", `queue "nowhere" does not exist`, "select mbus4.redrive('nowhere')"),
			fails("42704", `queue "nowhere" does not exist`, "select mbus4.redrive($1, amt => 0)", "nowhere"),
			gives("1|1 > dmq:q2 dmq:r2 q:q1 r:r1", "select mbus4.redrive('q', amt => 1), mbus4.redrive('r', amt => 1)"),
			fails("2201W", "must not be negative", "select mbus4.redrive(amt => -1)"),
			fails("42601", "one SQL expression", "select mbus4.redrive(selector => $1)", "true, true"),
			fails("0A000", "must be known before the statement runs", "select mbus4.redrive('q', q.qname) from mbus4.queue q"),
			fails("42883", signature, "select mbus4.redrive('q', null, null, 1)"),
			fails("42883", signature, "select mbus4.redrive(7)"),
		},
	}.run(t)
}

// A redrive says what keeps messages in dmq.
func TestRedriveNotice(t *testing.T) {
	t.Parallel()
	database := harness.NewDatabase(t)
	conn, notices := harness.ConnectNotices(t, database)
	harness.Ask(t, conn, "select mbus4.create_queue(q, 1) from unnest(array['q', 'gone', 'picky']) q")
	harness.Ask(t, conn, `
		select mbus4.post('q', '', iid => 'taken'), mbus4.post('gone', '', iid => 'gone'), mbus4.post('q', '', expires => '2001-01-01', iid => 'old');
		select mbus4.fail(lease) from mbus4.lease('q', amt => 2); select mbus4.fail(lease) from mbus4.lease('gone');
		select mbus4.post_dmq('', 'destination=>picky', iid => 'unwanted'), mbus4.post_dmq('', 'destination=>q', expires => '2001-01-01', iid => 'late');
		select mbus4.post('q', '', iid => 'taken'); select mbus4.drop_queue('gone'); select mbus4.drop_consumer('picky', 'default')`)
	*notices = nil
	harness.Want(t, conn, "0", "select mbus4.redrive()")
	const want = "messages that stay in dmq: 1 whose queue or consumer is gone, 1 that expired, 1 that no consumer selects, 1 whose iid the consumer has again or whose headers cannot be read"
	if len(*notices) != 1 || (*notices)[0].Message != want {
		t.Errorf("%v", *notices)
	}
	*notices = nil
	harness.Want(t, conn, "0", "select mbus4.redrive('gone')")
	if len(*notices) != 1 || (*notices)[0].Message != "messages that stay in dmq: 1 whose queue or consumer is gone" {
		t.Errorf("%v", *notices)
	}
}

// What has expired is nobody's, but who has a lease on it keeps it until that ends.
func TestLeaseExpires(t *testing.T) {
	t.Parallel()
	inBothProtocols(t, []string{"q"}, func(t *testing.T, s *forms.Session) {
		s.Want(t, "old", "select mbus4.post('q', '', expires => (clock_timestamp() + '5 s')::timestamp, iid => 'old')")
		lease := harness.Ask(t, s.Conn, "select lease from mbus4.lease('q', lease => '1 hour')")
		harness.Await(t, s.Conn, "select expires < clock_timestamp() from mbus4.message where iid = 'old'")
		s.Want(t, "", "select mbus4.clear_queue_q()")
		s.Want(t, "leased", "select state from mbus4.why('old')")
		s.Want(t, "t|t|t|old", "select mbus4.is_msg_exists('old'), mbus4.peek_q('old'), mbus4.peek_q(), iid from mbus4.peek('old')")
		// Who comes later waits for it; a post under its iid does not put itself in its place, nor
		// does what triggers or headers make slower.
		s.Want(t, "next", "select mbus4.post('q', '', 'consume_after=>{old}', iid => 'next')")
		s.Want(t, "", "select iid from mbus4.consume('q')")
		s.Want(t, "waiting|{old}", "select state, waits_for from mbus4.why('next')")
		s.Refused(t, "23505", "select mbus4.post('q', '', iid => 'old')")
		s.Refused(t, "23505", "select mbus4.post('q', '', 'seenby=>{x}', iid => 'old')")
		s.Want(t, "t", "select mbus4.ack($1)", lease)
		s.Want(t, "next", "select iid from mbus4.consume('q', wait => '20 s')")

		// It ends a lease to take it, and when a lease ends it has expired.
		for _, take := range []string{"select iid from mbus4.take('old')", "select iid from mbus4.take_from_q_by_default('old')"} {
			s.Want(t, "old", "select mbus4.post('q', '', expires => (clock_timestamp() + '5 s')::timestamp, iid => 'old')")
			s.Want(t, "old", "select iid from mbus4.lease('q', lease => '1 hour')")
			harness.Await(t, s.Conn, "select expires < clock_timestamp() from mbus4.message where iid = 'old'")
			s.Want(t, "old", take)
		}
		s.Want(t, "old", "select mbus4.post('q', '', expires => (clock_timestamp() + '5 s')::timestamp, iid => 'old')")
		s.Want(t, "old", "select iid from mbus4.lease('q', lease => '200 ms')")
		harness.Await(t, s.Conn, "select not mbus4.is_msg_exists('old')")
		s.Want(t, "∅", "select iid from mbus4.take('old')")
	})
}

// A message that lies in dmq can be leased, however often, and given back.
func TestLeaseOfDMQ(t *testing.T) {
	t.Parallel()
	inBothProtocols(t, []string{"q"}, func(t *testing.T, s *forms.Session) {
		s.Want(t, "", "select mbus4.alter_consumer('dmq', max_attempts => 1)")
		s.Want(t, "dead", "select mbus4.post_dmq('', 'destination=>q', iid => 'dead')")
		for attempt := range 3 {
			at, lease, _ := strings.Cut(harness.Ask(t, s.Conn, "select attempt, lease from mbus4.lease('dmq')"), "|")
			if at != string(rune('1'+attempt)) {
				t.Errorf("attempt %s", at)
			}
			s.Want(t, "t", "select mbus4.retry($1, 'no', '0')", lease)
		}
		s.Want(t, "dead|q", "select iid, headers->'destination' from mbus4.consume('dmq')")
	})
}
