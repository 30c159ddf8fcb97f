package model

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"mbusproxy/integration/internal/forms"
	"mbusproxy/integration/internal/harness"
)

// The model of leases: a message that is leased, extended or put back is a new row, made by the
// transaction that does it, and the old one is gone by it.

// move makes the row that takes the place of a copy.
func (m *model) move(c *modelCopy, x *modelTx, avail window, lease string, attempt int) {
	m.place++
	d := &modelCopy{modelRow: modelRow{made: x}, modelMessage: c.modelMessage, to: c.to, avail: avail, stored: true, posted: -m.place, lease: lease, attempt: attempt}
	if lease == "" {
		g := *c.modelMessage
		g.unsure = true
		d.modelMessage = &g
	}
	c.gone = x
	m.copies = append(m.copies, d)
}

// leaseEnds is when a lease ends, by its name.
func leaseEnds(lease string) (window, error) {
	micros, err := strconv.ParseInt(lease[strings.LastIndexByte(lease, '.')+1:], 10, 64)
	at := time.UnixMicro(micros)
	return window{at, at}, err
}

// leasable are consumers of which leases are modelled: with no message that expires, waits for
// others or has used its attempts up.
func (r *modelRun) leasable(s *modelSession) (queue, name string, found *modelConsumer) {
	queue, name, found = r.anyConsumer(s)
	if found == nil || queue == "dmq" || slices.ContainsFunc(r.m.copies, func(c *modelCopy) bool {
		return c.to == found && (c.expires != nil || len(c.after) > 0 || c.attempt > 7)
	}) {
		return "", "", nil
	}
	return queue, name, found
}

// opLease leases messages, for a short time or a long one.
func (r *modelRun) opLease(s *modelSession) bool {
	queue, name, c := r.leasable(s)
	if c == nil {
		return false
	}
	amount := 1 + r.random.IntN(3)
	length := pick(r, []string{"1 ms", "100 ms", "300 ms", "1 hour"})
	wait := ""
	if r.chance(30) {
		wait = ", wait => '30 ms'"
	}
	return r.serve(s, expected{}, func(x *modelTx, out reply) error {
		rows := parseGot(out.text)
		r.got(s, rows)
		r.m.byDue = true
		copies, err := r.m.delivered(s, c, amount, 0, rows, out.window, r.database)
		r.m.byDue = false
		if err != nil || len(copies) == 0 {
			return err
		}
		for i, line := range strings.Split(out.text, "\n") {
			fields := strings.Split(line, "|")
			attempt, lease := fields[6], fields[7]
			if attempt != fmt.Sprint(copies[i].attempt+1) {
				return fmt.Errorf("attempt %s at %v", attempt, copies[i])
			}
			ends, err := leaseEnds(lease)
			if err != nil {
				return err
			}
			r.leases = append(r.leases, lease)
			r.m.move(copies[i], x, ends, lease, copies[i].attempt+1)
		}
		return nil
	}, forms.Do("select "+gotColumns+", m.attempt, m.lease from mbus4.lease($1, $2, $3, lease => $4"+wait+") m", queue, name, amount, length))
}

// opSettleLease acks, retries, fails or extends by a lease that holds or that does not.
func (r *modelRun) opSettleLease(s *modelSession) bool {
	lease := r.leases[max(0, len(r.leases)-1-r.random.IntN(12))]
	var c *modelCopy
	often := r.chance(70)
	for _, d := range r.m.copies {
		if (d.lease == lease || often && d.lease != "") && d.visible(s) && d.to.visible(s) {
			c, lease = d, d.lease
		}
	}
	if c == nil && slices.ContainsFunc(r.m.copies, func(d *modelCopy) bool { return d.lease == lease && !d.to.visible(s) }) {
		return false // its consumer is dropped: ack still finds the row, until housekeeping has removed it
	}
	e, holds := expected{}, "f"
	if c != nil {
		e.waits, holds = sure(c.held(s)), "t"
		if !c.to.visible(nil) || c.to.held(s) {
			return false // somebody drops it
		}
	}
	said := func(out reply, do func()) error {
		if out.text != holds {
			return fmt.Errorf("got %q, want %q", out.text, holds)
		}
		if c != nil {
			do()
			r.counts["leases settled"]++
		} else {
			r.counts["leases lost"]++
		}
		return nil
	}
	switch r.random.IntN(4) {
	case 0:
		return r.serve(s, e, func(x *modelTx, out reply) error {
			return said(out, func() { r.m.removed(c, x, out.window) })
		}, forms.Do("select mbus4.ack($1)", lease))
	case 1:
		delay := time.Duration(r.random.IntN(200)) * time.Millisecond
		return r.serve(s, e, func(x *modelTx, out reply) error {
			return said(out, func() {
				r.m.move(c, x, window{out.from.Add(delay), out.to.Add(delay)}, "", c.attempt)
			})
		}, forms.Do("select mbus4.retry($1::text, 'again', delay => $2)", lease, fmt.Sprint(delay.Milliseconds(), " ms")))
	case 2:
		if c != nil && slices.ContainsFunc(r.m.copies, func(d *modelCopy) bool { return d.to.queue == "dmq" && d.iid == c.iid }) {
			return false // it gets an iid of its own
		}
		return r.serve(s, e, func(x *modelTx, out reply) error {
			return said(out, func() {
				r.m.removed(c, x, out.window)
				p := &modelPost{queue: "dmq", given: true, message: *c.modelMessage}
				p.message.from, p.message.unsure, p.message.copied, p.message.kept = c.to.queue, true, false, true
				r.m.post(s, x, p, out.window, c.iid)
			})
		}, forms.Do("select mbus4.fail($1, 'never')", lease))
	}
	return r.serve(s, e, func(x *modelTx, out reply) error {
		if c == nil {
			if out.text != harness.Null {
				return fmt.Errorf("a lease that is lost is extended: %q", out.text)
			}
			return nil
		}
		ends, err := leaseEnds(out.text)
		if err != nil {
			return err
		}
		r.leases = append(r.leases, out.text)
		r.m.move(c, x, ends, out.text, c.attempt)
		return nil
	}, forms.Do("select mbus4.extend($1, $2)", lease, pick(r, []string{"50 ms", "200 ms", "1 hour"})))
}

// opRetryConsumed consumes a message and puts it back for another attempt, in one statement.
func (r *modelRun) opRetryConsumed(s *modelSession) bool {
	queue, name, c := r.leasable(s)
	if c == nil || r.others(s) {
		return false
	}
	delay := time.Duration(r.random.IntN(200)) * time.Millisecond
	return r.serve(s, expected{}, func(x *modelTx, out reply) error {
		rows := parseGot(out.text)
		r.got(s, rows)
		copies, err := r.m.delivered(s, c, 1, 0, rows, out.window, r.database)
		if err != nil || len(copies) == 0 {
			return err
		}
		if !strings.HasSuffix(out.text, "|t") {
			return fmt.Errorf("it is not put back: %q", out.text)
		}
		r.m.removed(copies[0], x, out.window)
		r.m.move(copies[0], x, window{out.from.Add(delay), out.to.Add(delay)}, "", copies[0].attempt+1)
		return nil
	}, forms.Do("select "+gotColumns+", mbus4.retry(m, 'again', delay => $3, cname => $2) from mbus4.consume($1, $2) m", queue, name, fmt.Sprint(delay.Milliseconds(), " ms")))
}

// opPauseQueue pauses a queue for a moment, in which nobody gets anything from it.
func (r *modelRun) opPauseQueue(s *modelSession) bool {
	queue, name, c := r.anyConsumer(s)
	if c == nil || queue == "dmq" || len(s.stack) > 0 || r.others(s) {
		return false
	}
	r.control(s, "select mbus4.pause_queue('"+queue+"')")
	for _, o := range r.sessions {
		if out := r.send(o, forms.Do(fmt.Sprintf("select "+gotColumns+" from mbus4.consume('%s', '%s') m", queue, name))); out.err != nil || out.text != "" {
			r.fail("a paused queue gives %q, %v", out.text, out.err)
		}
	}
	r.control(s, "select mbus4.resume_queue('"+queue+"')")
	r.status(s)
	return true
}
