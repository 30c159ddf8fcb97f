package model

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/jackc/pgx/v5/pgproto3"

	"mbusproxy/integration/internal/forms"
	"mbusproxy/integration/internal/harness"
)

// prologue makes something to work with.
func (r *modelRun) prologue() {
	s := r.sessions[0]
	r.createQueue(s, "qa")
	r.createQueue(s, "qb")
	if r.m.queue(s, "qa") == nil || r.m.queue(s, "qb") == nil {
		return // refused for its name, or already in a transaction
	}
	r.createConsumer(s, "qa", "ca", 1)
	r.createConsumer(s, "qa", "cc", 0)
	r.createConsumer(s, "qb", "cb", 2)
	if r.chance(70) {
		r.createQueue(s, "qc")
	}
	if r.chance(50) {
		r.createTrigger(s, "qa", "qb", r.random.IntN(3))
	}
}

// opKill ends a connection from either side, often with a statement under way.
func (r *modelRun) opKill(s *modelSession) bool {
	pid := s.conn.PID()
	state := txAborted
	switch r.random.IntN(4) {
	case 0:
		r.note(s, "-- the client is gone")
		r.abort(s)
	case 1:
		if len(s.stack) == 0 || s.failed {
			return false
		}
		queue, name, _ := r.anyConsumer(s)
		r.abandon(s, fmt.Sprintf("select mbus4.consumen('%s', '%s', 5)", queue, name))
	case 2: // whether it committed shows afterwards only
		if len(s.stack) == 0 || s.failed {
			return false
		}
		r.number++
		if out := r.send(s, forms.Do("insert into mark values ($1::bigint)", r.number)); out.err != nil {
			r.fail("%s", harness.Describe(out.err))
		}
		r.abandon(s, "commit")
		harness.AwaitBackendGone(r.T, r.server, pid)
		if r.must(r.server, fmt.Sprintf("select count(*) from mark where n = %d", r.number)) == "1" {
			state = txCommitted
		}
		r.note(s, "-- it was committed: %v", state == txCommitted)
	case 3:
		r.note(s, "-- pg_terminate_backend")
		r.must(r.server, fmt.Sprintf("select pg_terminate_backend(%d)", pid))
		harness.AwaitBackendGone(r.T, r.server, pid)
		ctx, cancel := context.WithTimeout(r.Context(), harness.AskLimit)
		defer cancel()
		if text, err := harness.Query(ctx, s.conn, "select mbus4.peek_dmq()"); err == nil || harness.SQLState(err) != "" && harness.SQLState(err) != "57P01" {
			r.fail("a session without a server: %q, %v", text, harness.Describe(err))
		}
	}
	harness.AwaitBackendGone(r.T, r.server, pid)
	s.end(state)
	harness.Close(s.conn)
	r.connect(s)
	return true
}

func (r *modelRun) abort(s *modelSession) {
	if err := harness.Abort(s.conn); err != nil {
		r.fail("breaking the connection: %v", err)
	}
}

// abandon sends a statement and breaks the connection without waiting for the answer.
func (r *modelRun) abandon(s *modelSession, sql string) {
	r.note(s, "%s;  -- the client is gone", sql)
	s.conn.Frontend().Send(&pgproto3.Query{String: sql})
	if err := s.conn.Frontend().Flush(); err != nil {
		r.fail("sending %s: %v", sql, err)
	}
	if r.chance(50) {
		<-time.After(time.Duration(r.random.IntN(5)) * time.Millisecond)
	}
	r.abort(s)
}

// opSettle waits for a message that waited for others, none of which is there any more.
func (r *modelRun) opSettle(s *modelSession) bool {
	if s.failed {
		return false
	}
	for _, c := range r.m.copies {
		now := time.Now()
		w := window{now, now}
		if !c.parked || !c.visible(nil) || !c.to.visible(nil) || !c.to.visible(s) || r.m.waits(s, c) != never ||
			r.m.present(nil, c.after, w) != never || r.m.present(s, c.after, w) != never ||
			c.delayed != nil && c.delayed.at.After(now) || c.expires != nil {
			continue
		}
		for c.visible(s) {
			if r.m.present(s, c.after, w) != never {
				return true // consuming put something of its own in the way
			}
			if time.Since(now) > modelPatience {
				r.fail("message %s (n=%d) waits for nothing and is not delivered", c.iid, c.n)
			}
			r.consume(s, c.to.queue, c.to.name, 20)
			if c.visible(s) {
				<-time.After(10 * time.Millisecond)
			}
		}
		r.longest = max(r.longest, time.Since(now))
		return true
	}
	return false
}

// drain ends all transactions, receives everything there is and compares what is left.
func (r *modelRun) drain() {
	r.random = rand.New(rand.NewPCG(r.seed, modelSteps+1))
	for _, s := range r.sessions {
		r.opEnd(s)
	}
	since := time.Now()
	for {
		for _, c := range slices.Clone(r.m.consumers) {
			if c.target != "" || !c.visible(nil) {
				continue
			}
			for before := -1; before != len(r.m.copies); {
				before = len(r.m.copies)
				r.consume(pick(r, r.sessions), c.queue, c.name, 1+r.random.IntN(30))
				r.m.look()
			}
		}
		left, due := r.left()
		if due == nil {
			if len(left) > 0 && r.takeOne(left) {
				since = time.Now()
				continue
			}
			if expiring(left) {
				<-time.After(50 * time.Millisecond)
				continue
			}
			r.compareTable(len(left))
			break
		}
		r.longest = max(r.longest, time.Since(since))
		if time.Since(since) > modelPatience {
			_, reason := r.m.deliverable(nil, due, soon())
			r.fail("message %s (n=%d) for %s.%s is not delivered %s", due.iid, due.n, due.to.queue, due.to.name, reason)
		}
		<-time.After(5 * time.Millisecond)
	}
	r.clear()
}

// left are the copies that are there, and one of them that should be delivered by itself.
func (r *modelRun) left() (left []*modelCopy, due *modelCopy) {
	w := soon()
	for _, c := range r.m.copies {
		if !c.visible(nil) || !c.to.visible(nil) || c.unexpired(window{w.from, w.from}) == never {
			continue
		}
		left = append(left, c)
		if known, _ := r.m.deliverable(nil, c, w); known != never {
			due = c
		}
	}
	return left, due
}

// expiring reports whether one of the copies expires soon.
func expiring(copies []*modelCopy) bool {
	return slices.ContainsFunc(copies, func(c *modelCopy) bool { return c.unexpired(soon()) == maybe })
}

// takeOne takes one of the messages that nothing will make deliverable soon.
func (r *modelRun) takeOne(left []*modelCopy) bool {
	for _, c := range left {
		if c.iid == "" {
			continue
		}
		s := pick(r, r.sessions)
		r.serve(s, expected{}, func(_ *modelTx, out reply) error {
			return answered(out.text, r.m.present(s, []string{c.iid}, out.window))
		}, forms.Do("select mbus4.is_msg_exists($1)", c.iid))
		r.take(s, c.iid)
		r.m.look()
		return true
	}
	return false
}

// compareTable checks that nothing is stored but what the model knows of.
func (r *modelRun) compareTable(left int) {
	if got := r.must(r.server, `select count(*) from mbus4.message m join mbus4.consumer c on c.id = m.consumer_id
		where m.expires is null or m.expires > clock_timestamp() or c.qname = 'dmq'`); got != fmt.Sprint(left) {
		r.fail("%s messages are left instead of %d", got, left)
	}
}

// clear removes queues and triggers.
func (r *modelRun) clear() {
	s := r.sessions[0]
	for _, q := range slices.Clone(r.m.queues) {
		if q.name != "dmq" && q.visible(nil) {
			r.dropQueue(s, q.name)
		}
	}
	for _, c := range slices.Clone(r.m.consumers) {
		if c.target != "" && c.visible(nil) {
			r.dropTrigger(s, c.queue, c.target)
		}
	}
	if got := r.must(r.server, "delete from mbus4.message; select count(*) from mbus4.consumer where qname <> 'semaphore_events'"); got != "1" {
		r.fail("%s consumers are left instead of dmq's", got)
	}
}
