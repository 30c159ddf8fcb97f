package model

import (
	"fmt"
	"strings"
	"time"

	"github.com/jackc/pgx/v5/pgconn"

	"mbusproxy/integration/internal/harness"
)

const (
	postSome    = "select mbus4.post('q', hstore('n', n::text)) from generate_series(1, $1::int) n"
	postDelayed = "select mbus4.post('q', hstore('n', n::text), delayed_until => localtimestamp + interval '1 ms' * $2::int) from generate_series(1, $1::int) n"
	leaseSome   = "select lease from mbus4.lease('q', amt => $1::int, lease => $2)"
)

// other is a session of the round that does something beside the calls; it is closed with the test, or by what it does.
func (r *waitRun) other() *pgconn.PgConn { return r.dial(r.ends[r.random.IntN(len(r.ends))]) }

// soonMS is a time that passes within the round.
func (r *waitRun) soonMS() int { return 20 + r.random.IntN(600) }

// waitWays are the ways in which messages become deliverable. What a way's prepare leaves for its
// cause stands in its closure.
var waitWays = []waitWay{
	{"a post", nil, func(r *waitRun, n int) time.Time {
		r.does(r.poster, postSome, n)
		return time.Now()
	}},
	{"a post in a block", nil, func(r *waitRun, n int) time.Time {
		o := r.other()
		defer harness.Close(o)
		r.does(o, "begin")
		r.does(o, postSome, n)
		r.does(o, "savepoint s; select 1; release s")
		r.does(o, "commit")
		return time.Now()
	}},
	{"a delay from before" + byTheClock, func(r *waitRun, n int) { r.does(r.poster, postDelayed, n, 600+r.soonMS()) }, func(*waitRun, int) time.Time { return time.Now().Add(1300 * time.Millisecond) }},
	{"a delay", nil, func(r *waitRun, n int) time.Time {
		ms := r.soonMS()
		r.does(r.poster, postDelayed, n, ms)
		return time.Now().Add(time.Duration(ms) * time.Millisecond)
	}},
	{"leases from before end" + byTheClock, func(r *waitRun, n int) {
		r.does(r.poster, postSome, n)
		r.does(r.poster, leaseSome, n, fmt.Sprint(600+r.soonMS(), " ms"))
	}, func(*waitRun, int) time.Time { return time.Now().Add(1300 * time.Millisecond) }},
	withLeases("leases are retried", func(r *waitRun, lease string) {
		r.does(r.poster, "select mbus4.retry($1::text, 'again', delay => '0')", lease)
	}),
	withLeases("leases are retried by the policy", func(r *waitRun, lease string) { r.does(r.poster, "select mbus4.retry($1::text)", lease) }),
	withLeases("leases are cut short", func(r *waitRun, lease string) { r.does(r.poster, "select mbus4.extend($1, '5 ms')", lease) }),
	withLeases("what had failed is redriven", func(r *waitRun, lease string) {
		r.does(r.poster, "select mbus4.fail($1)", lease)
		r.does(r.poster, "select mbus4.redrive('q')")
	}),
	heldBy("a rollback", func(r *waitRun, o *pgconn.PgConn) {
		r.does(o, "rollback")
		harness.Close(o)
	}),
	heldBy("a client that dies", func(r *waitRun, o *pgconn.PgConn) {
		pid := o.PID()
		if err := harness.Abort(o); err != nil {
			r.fail("%v", err)
		}
		harness.AwaitBackendGone(r.T, r.direct, pid)
	}),
	heldBy("a retry of what was consumed", func(r *waitRun, o *pgconn.PgConn) {
		r.does(o, "rollback; begin")
		for range 5 {
			r.does(o, "select mbus4.retry(m, delay => '10 ms') from mbus4.consume('q') m")
		}
		r.does(o, "commit")
		harness.Close(o)
	}),
	{"a lock past the proxies is let go", func(r *waitRun, n int) {
		r.does(r.poster, postSome, n)
		r.does(r.past, "begin; select count(*) from (select from mbus4.message for update) m")
	}, func(r *waitRun, _ int) time.Time {
		r.does(r.past, "commit")
		return time.Now()
	}},
	{"a pause ends", func(r *waitRun, n int) {
		r.does(r.poster, "select mbus4.pause_queue('q')")
		r.does(r.poster, postSome, n)
	}, func(r *waitRun, _ int) time.Time {
		r.does(r.poster, "select mbus4.resume_queue('q')")
		return time.Now()
	}},
	{"a schedule", nil, func(r *waitRun, _ int) time.Time {
		r.does(r.poster, "select mbus4.schedule('s', '* * * * * *', 'q', 'n=>1')")
		harness.Await(r.T, r.direct, "select last_at is not null from mbus4.schedules where name = 's'")
		r.does(r.poster, "select mbus4.unschedule('s')")
		return time.Now()
	}},
}

// withLeases is a way by what is done to leases.
func withLeases(name string, do func(r *waitRun, lease string)) waitWay {
	return waitWay{name, func(r *waitRun, n int) {
		r.does(r.poster, postSome, n)
		r.does(r.poster, "create temporary table if not exists had (lease text); truncate had")
		r.does(r.poster, "insert into had "+leaseSome, n, "1 hour")
	}, func(r *waitRun, _ int) time.Time {
		for lease := range strings.SplitSeq(r.does(r.poster, "select lease from had"), "\n") {
			do(r, lease)
		}
		return time.Now()
	}}
}

// heldBy is a way by how a transaction ends that has consumed what there is.
func heldBy(name string, end func(r *waitRun, o *pgconn.PgConn)) waitWay {
	return waitWay{name, func(r *waitRun, n int) {
		r.does(r.poster, postSome, n)
		r.held = r.other()
		r.does(r.held, "begin")
		r.does(r.held, "select count(*) from mbus4.consumen('q', amt => 5) m")
	}, func(r *waitRun, _ int) time.Time {
		end(r, r.held)
		return time.Now()
	}}
}
