package pipeline

import (
	"context"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgproto3"

	"mbusproxy/proxy/statements"
)

// sleeper is a Wait that is woken by the test.
type sleeper struct {
	statements.Wait
	slept chan func() // gets what wakes it
	awake int         // calls of Awake
}

func (s *sleeper) Sleep(wake func()) { s.slept <- wake }

func (s *sleeper) Awake() (over bool, refused statements.Plan) {
	s.awake++
	return true, nil
}

// newSleeping returns a flow with a message whose wait is idle.
func newSleeping() (*ClientFlow, *sleeper) {
	s := &sleeper{slept: make(chan func(), 1)}
	f := &ClientFlow{waiting: &waiting{wait: s, phase: waitIdle}}
	f.takeUp()
	return f, s
}

// A statement that waits is woken by its turn, and by what ends its wait, once, with a goroutine or without.
func TestSleep(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		before, end func(f *ClientFlow, wake func())
		code        string // it is refused with; "": it is not
	}{
		"turn":             {end: func(_ *ClientFlow, wake func()) { wake() }},
		"turn and cancel":  {end: func(f *ClientFlow, wake func()) { wake(); f.Cancel(0) }, code: "57014"},
		"cancel":           {end: func(f *ClientFlow, _ func()) { f.Cancel(0); f.Cancel(0) }, code: "57014"},
		"cancel and drain": {end: func(f *ClientFlow, _ func()) { f.Cancel(0); f.EndWaits() }, code: "57014"},
		"drain":            {end: func(f *ClientFlow, wake func()) { f.EndWaits(); wake() }, code: "57P01"},
		"cancelled before": {before: func(f *ClientFlow, _ func()) { f.Cancel(0) }, code: "57014"},
		"drains already":   {before: func(f *ClientFlow, _ func()) { f.EndWaits() }, code: "57P01"},
	} {
		for _, parked := range []bool{true, false} {
			f, s := newSleeping()
			if c.before != nil {
				c.before(f, nil)
			}
			told := 0
			if parked {
				if f.Sleeps(Backlog{skips: true}, nil) {
					t.Errorf("%s: it sleeps though the server skips it", name)
				}
				if sleeps := f.Sleeps(Backlog{}, func() { told++ }); sleeps == (c.before != nil) {
					t.Errorf("%s: sleeps %v", name, sleeps)
				}
			}
			type result struct {
				over    bool
				refused statements.Plan
			}
			done := make(chan result, 1)
			await := func() {
				over, refused := f.awaitTurn(t.Context())
				done <- result{over, refused}
			}
			if !parked {
				go await()
			}
			if wake := <-s.slept; c.end != nil {
				if !f.Waits() {
					t.Errorf("%s: it does not wait", name)
				}
				c.end(f, wake)
			}
			if parked {
				if told != 1 || f.Sleeps(Backlog{}, nil) {
					t.Errorf("%s: told %d times, or it still sleeps", name, told)
				}
				await()
			}
			r := <-done
			switch {
			case c.code == "" && (!r.over || r.refused != nil), c.code != "" && refusedWith(r.refused) != c.code:
				// With a goroutine the turn may be over before the cancel comes.
				if parked || name != "turn and cancel" {
					t.Errorf("%s, parked %v: %+v", name, parked, r)
				}
			}
			if f.Waits() || s.awake != 1 {
				t.Errorf("%s, parked %v: it still waits, or was seen to %d times", name, parked, s.awake)
			}
		}
	}
}

// The end of the session ends a wait, and what Leave leaves sleeps no more.
func TestSleepEnds(t *testing.T) {
	t.Parallel()
	f, s := newSleeping()
	ctx, cancel := context.WithCancel(t.Context())
	time.AfterFunc(time.Millisecond, cancel)
	if f.awaitTurn(ctx); s.awake != 1 || f.Waits() {
		t.Error("it still waits")
	}
	left := &leaver{sleeper{slept: make(chan func(), 1)}, false}
	f.waiting = &waiting{wait: left, phase: waitIdle}
	if !f.Sleeps(Backlog{}, func() {}) {
		t.Error("it does not sleep")
	}
	if f.Leave(); left.awake != 1 || !left.left || f.Waits() {
		t.Error("it still waits")
	}
}

type leaver struct {
	sleeper
	left bool
}

func (l *leaver) Leave(bool) { l.left = true }

// refusedWith is the SQLSTATE with which a plan refuses a message; "" for no plan.
func refusedWith(plan statements.Plan) string {
	if plan == nil {
		return ""
	}
	rep := pgproto3.ErrorResponse{SeverityUnlocalized: "ERROR"}
	plan.EditReport(&rep, 0)
	return rep.Code
}
