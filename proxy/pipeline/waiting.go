package pipeline

import (
	"context"
	"errors"
	"time"

	"mbusproxy/proxy/pipeline/athand"
	"mbusproxy/proxy/pipeline/refuse"
	"mbusproxy/proxy/pipeline/requests"
	"mbusproxy/proxy/statements"
	"mbusproxy/proxy/wire"
)

// A statement may have to wait until there is something for it. It waits here: between two looks
// the server has nothing of it, no statement, no snapshot and, outside of a transaction block, no
// transaction. Each look is a probe query (Wait.Probe) in the transaction in which the statement is
// to run; where it finds something, the statement follows in that same transaction, and else a Sync
// ends it.
//
// A Query is held back itself, of the extended protocol the Bind. What the client sends behind it
// is not read meanwhile.

type waitPhase uint8

const (
	// waitAsked is entered when the probe query has been sent.
	waitAsked waitPhase = iota
	// waitIdle is entered when the Sync behind one that has found nothing is sent, or at first,
	// behind others who wait for the same.
	waitIdle
	// waitOver is entered when the statement is to run, and all that the server was sent has been answered.
	waitOver
)

// waiting is the wait of the message set aside.
type waiting struct {
	wait  statements.Wait
	phase waitPhase
	// plan is that of a Query.
	plan statements.Plan
	// ran says that the client has run something since its last Sync outside of a block. Unless
	// that has begun one, as drivers do that send BEGIN with the first statement, the Sync behind a
	// look would commit it too early.
	ran bool
	// again says that the probe query is to be sent again at once: the statement prepared for it was gone.
	again bool
	// asleep says that Wait.Sleep has been called, and Wait.Awake has not.
	asleep bool
	// slept says that it has been asleep; behind looks at what the client has sent behind the message.
	slept  bool
	behind behind
	// refused is what the message fails with when the wait is over; nil: it does not.
	refused statements.Plan
}

// beginWait puts the message that Next returned with position pos aside where its statement has to
// wait, with what is to be sent meanwhile in out; false means that the message is to be dealt with
// now.
func (f *ClientFlow) beginWait(ctx context.Context, buf, frame []byte, pos int, out *wire.Splicer) (aside bool) {
	wait := f.waitOf(ctx, frame)
	if wait == nil {
		return false
	}
	f.waiting = &waiting{wait: wait, ran: !f.before.block && f.ranSinceSync}
	if f.recalled != nil {
		f.waiting.plan = wait.Statement()
		f.recalled, f.asked = nil, false
	}
	f.waits.Store(f.waiting)
	f.SawAhead(buf[pos:])
	f.traces.since = time.Now()
	f.probing.answered = nil
	var messages []byte
	if f.room > 0 && f.quiet() && !f.before.block && wait.Stand(f.room) {
		f.waiting.phase = waitIdle
	} else {
		messages = f.poseWait(frame)
	}
	f.setAside(buf, frame, pos, out, messages)
	return true
}

// goOnWaiting does the same for a message whose wait has begun. failed is as for failedFor.
func (f *ClientFlow) goOnWaiting(ctx context.Context, buf, frame []byte, pos int, out *wire.Splicer) (aside, failed bool, err error) {
	w := f.waiting
	switch w.phase {
	case waitAsked:
		p := f.probing.answered
		if p.lost {
			f.before.skips, f.probing.answered = false, nil
			w.phase, w.again = waitIdle, true
			f.setAside(buf, frame, pos, out, f.endLook())
			return true, false, nil
		}
		if p.Is() != requests.Done {
			f.atHand.Spend() // the server has been asked as well
			f.endWait(false)
			if p.skips {
				at := f.startOf(frame, pos)
				out.Replace(at, at, f.stopSkipping(p))
			}
			failed, err = f.failedFor(frame)
			return false, failed, err
		}
		f.probing.answered = nil
		if w.ran && !p.began {
			w.phase, w.refused = waitOver, refuse.BehindOthers()
			f.setAside(buf, frame, pos, out, nil)
			return true, false, nil
		}
		block := f.before.block || p.began
		var run bool
		run, w.refused = w.wait.Answered(p.answer, block)
		if block || w.refused != nil {
			f.room = 0
		} else if room := w.wait.Room(); room > 0 {
			f.room = room
		}
		if run {
			// With the next feed it is known that nothing is outstanding.
			w.phase = waitOver
			f.setAside(buf, frame, pos, out, nil)
			return true, false, nil
		}
		w.phase, w.ran = waitIdle, false
		f.setAside(buf, frame, pos, out, f.endLook())
		return true, false, nil
	case waitIdle:
		if w.again {
			w.phase, w.again = waitAsked, false
			f.setAside(buf, frame, pos, out, f.poseWait(frame))
			return true, false, nil
		}
		if w.refused == nil {
			var over bool
			if over, w.refused = f.awaitTurn(ctx); ctx.Err() != nil {
				f.Terminated = true
				return false, false, nil
			} else if f.leaveWait(frame, pos, out) {
				return false, false, nil
			} else if !over && w.refused == nil {
				w.phase = waitAsked
				f.setAside(buf, frame, pos, out, f.poseWait(frame))
				return true, false, nil
			}
			if f.Nonblocking && w.plan == nil { // the plan is to be asked
				w.phase = waitOver
				f.setAside(buf, frame, pos, out, nil)
				return true, false, nil
			}
		}
	}
	if f.leaveWait(frame, pos, out) {
		return false, false, nil
	}
	if f.atHand.Spend() {
		w.refused = refuse.Canceled()
	}
	f.recalled, f.asked, f.refused = w.plan, w.plan != nil, w.refused
	f.awaitedQuery = w.plan != nil && w.refused == nil
	f.endWait(w.refused == nil)
	return false, false, nil
}

// Sleeps reports whether the next feed, which would get before, would wait for the turn of the
// statement at its beginning. If so wake is called, once and from anywhere, when it would not any
// more: then Sleeps is to be asked again. A caller that does so needs no goroutine for a wait. It
// comes where Blocked is false, and the requests of the last feed have been queued.
func (f *ClientFlow) Sleeps(before Backlog, wake func()) bool {
	w := f.waiting
	if w == nil || w.phase != waitIdle || w.again || w.refused != nil || before.skips {
		return false
	}
	if !w.asleep {
		f.awaited, f.requests = nil, nil // the last feed's, which have been dealt with
		f.sleep(wake)
	}
	return !f.atHand.IsAwake()
}

// GoesOn reports whether the next feed, which would get before, would go on with the wait of the
// statement at its beginning without a call that may take its time. Then GoOn does the same as a
// Feed that may wait, but does not. It comes where Blocked is false.
func (f *ClientFlow) GoesOn(before Backlog) bool {
	w := f.waiting
	if w == nil || w.refused != nil || before.skips || f.unsent.undecided {
		return false
	}
	switch p := f.probing.underWay; w.phase {
	case waitAsked:
		return p != nil && p.Is() == requests.Done && !p.lost
	case waitIdle:
		h := &f.atHand
		return w.again || w.asleep && h.IsAwake() && !h.Gone()
	case waitOver:
		return w.plan != nil
	}
	return false
}

// GoOn is a Feed of what was set aside, where GoesOn is true and Nonblocking is set.
func (f *ClientFlow) GoOn(before Backlog, buf []byte, out *wire.Splicer) error {
	f.goesOn = true
	defer func() { f.goesOn = false }()
	return f.Feed(context.Background(), before, buf, out)
}

func (f *ClientFlow) sleep(wake func()) {
	f.waiting.asleep, f.waiting.slept = true, true
	f.atHand.Sleep(wake)
	f.waiting.wait.Sleep(f.atHand.Rouse)
}

// awaitTurn waits until the probe query is to be sent again, or the wait is over.
func (f *ClientFlow) awaitTurn(ctx context.Context) (over bool, refused statements.Plan) {
	w, h := f.waiting, &f.atHand
	if !w.asleep {
		turn := make(chan struct{}, 1)
		f.sleep(func() { turn <- struct{}{} })
		select {
		case <-turn:
		case <-ctx.Done():
		}
	}
	w.asleep = false
	over, refused = w.wait.Awake()
	if !f.Nonblocking && h.Why() == nil && refused == nil && h.Gone() { // else GoesOn has asked
		h.Look() // which ends the session: nothing is to be taken for a client that is gone
		<-ctx.Done()
	}
	switch ended := h.EndSleep(); {
	case errors.Is(ended, athand.ErrCanceled):
		return false, refuse.Canceled()
	case errors.Is(ended, athand.ErrDraining):
		return false, refuse.Draining()
	}
	return over, refused
}

// endWait ends the wait of the message.
func (f *ClientFlow) endWait(run bool) {
	if f.waiting.asleep {
		f.waiting.wait.Awake()
		_ = f.atHand.EndSleep()
	}
	f.waiting.wait.Leave(run)
	f.waiting = nil
	f.waits.Store(nil)
}

// Leave ends what a feed has left under way with the message set aside, at the end of the session
// or where the server skips the message.
func (f *ClientFlow) Leave() {
	if f.waiting != nil {
		f.endWait(false)
	}
	f.letGo()
	f.atHand.GiveUp()
}

// waitOf returns what a message waits for; nil for nothing. f.refused is set where it is refused.
func (f *ClientFlow) waitOf(ctx context.Context, frame []byte) statements.Wait {
	if f.rewriter == nil || !isWhole(frame) {
		return nil
	}
	var plan statements.Plan
	var voids []int
	var values wire.Values
	simple := frame[0] == wire.MsgQuery
	if simple && f.recalled == nil && f.forRewriter(frame) {
		text, _, _, ok := textOf(frame)
		if !ok {
			return nil
		}
		plan = f.plan(ctx, text, true, false, nil)
		f.recalled, f.asked = plan, true
	} else if bound := f.bindTimeText(frame); bound != nil {
		plan, voids = bound.Plan, bound.Voids
		var ok bool
		if values, ok = wire.ReadValues(frame[wire.HeaderSize:]); !ok {
			return nil // malformed: the server says so
		}
	}
	waiter, ok := plan.(statements.Waiter)
	if !ok || !waiter.Waits() {
		return nil
	}
	call, end := f.atHand.Begin(ctx)
	wait, refused := waiter.Wait(call, f.context(simple, voids), values)
	switch {
	case end():
		refused = refuse.Canceled()
	case wait != nil && refused == nil && len(frame) > wire.MaxNames:
		// It would keep for hours what all sessions share.
		refused = refuse.TooLongToWait(len(frame))
	}
	if f.refused = refused; refused != nil && wait != nil {
		wait.Leave(false)
		wait = nil
	}
	return wait
}

// maySet reports whether a message may change a setting on which depends how long a statement may
// wait, as far as its text says.
func (f *ClientFlow) maySet(frame []byte) bool {
	if frame[0] != wire.MsgQuery && frame[0] != wire.MsgParse {
		return false
	}
	return f.rewriter == nil || f.rewriter.MaySetTimeouts(frame[wire.HeaderSize:])
}
