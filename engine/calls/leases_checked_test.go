package calls

import (
	"testing"

	"mbusproxy/engine/internal/statespace"
)

// A machine of one message, workers that lease or consume it, and a clock: what the statements of
// lease, ack, retry, extend, fail and consume do to its row. See docs/waiting-model.md.

const (
	leaseWorkers  = 2
	leaseTimes    = 4 // of the clock
	leaseAttempts = 3 // after which it goes to dmq
)

// leaseToken is the name of a lease that a worker has in hand. lost is not in it: somebody else has
// got the message since, or it was put back.
type leaseToken struct {
	attempt, end uint8 // attempt is 0 where there is none
	lost         bool
}

// leaseState has times from 1; 0 is none.
type leaseState struct {
	gone           bool
	available, due uint8 // available_at and delayed_until
	attempt        uint8 // retry.attempt
	locked         uint8 // by the transaction of a worker, from 1, which has consumed it
	clock          uint8
	tokens         [leaseWorkers][2]leaseToken // the last one, and the one before
	holder, until  uint8                       // who may work on it, from 1, and up to when
}

// leaseMachine says which mistake is made on purpose.
type leaseMachine struct {
	namesPlaceOnly, countsNot, ignoresDue, ignoresLock, endsEarly bool
}

type leaseStep = statespace.Step[leaseState]

// held is engine/calls/sql/part/held.sql, and where the lease says that the row stands.
func (m leaseMachine) held(s *leaseState, t leaseToken) bool {
	return !s.gone && s.available == t.end && (m.ignoresDue || s.due != s.available) && (m.namesPlaceOnly || s.attempt == t.attempt)
}

// move puts the row elsewhere, which ends all leases.
func (s *leaseState) move(available uint8) {
	s.available, s.holder, s.until = available, 0, 0
	for w := range s.tokens {
		for i := range s.tokens[w] {
			if t := &s.tokens[w][i]; t.attempt > 0 {
				t.lost = true
			}
		}
	}
}

// has says that a worker has the message up to some time, and what is wrong with that.
func (s *leaseState) has(worker int, until uint8) (wrong string) {
	if s.holder != 0 && s.holder != uint8(worker+1) && s.clock < s.until {
		wrong = "it is delivered to two at once"
	}
	s.holder, s.until = uint8(worker+1), until
	return wrong
}

// names gives the worker the name of his lease.
func (s *leaseState) names(worker int) {
	s.tokens[worker] = [2]leaseToken{{attempt: s.attempt, end: s.available}, s.tokens[worker][0]}
}

func (m leaseMachine) next(from leaseState) (out []leaseStep) {
	add := func(text string, worker, n int, do func(s *leaseState) (wrong string)) {
		to := from
		wrong := do(&to)
		if to.gone {
			to = leaseState{gone: true} // no step is left
		} else if to.until <= to.clock {
			to.holder, to.until = 0, 0
		}
		out = append(out, leaseStep{Label: statespace.Label{Text: text, Of: [2]int8{int8(worker), int8(n)}}, Wrong: wrong, To: to})
	}
	if from.clock < leaseTimes && !from.gone {
		add("time goes on to %d", int(from.clock)+1, 0, func(s *leaseState) string { s.clock++; return "" })
	}
	ready := !from.gone && from.available <= from.clock && (from.locked == 0 || m.ignoresLock)
	for w := range leaseWorkers {
		if ready {
			for length := range 2 {
				add("worker %d leases it for %d", w, length+1, func(s *leaseState) string { return m.lease(s, w, uint8(length+1)) })
			}
			add("worker %d consumes it", w, 0, func(s *leaseState) string {
				s.locked = uint8(w + 1)
				return s.has(w, leaseTimes+1)
			})
		}
		if from.locked == uint8(w+1) {
			m.block(w, add)
		}
		for i, t := range from.tokens[w] {
			// Where somebody else's transaction has the row, the statement waits for its end, and
			// looks at the row as it is then.
			if t.attempt > 0 && (from.locked == 0 || m.ignoresLock) {
				m.settle(&from, w, i, add)
			}
		}
	}
	return out
}

type addingLease func(text string, worker, n int, do func(s *leaseState) (wrong string))

// lease is lease.sql.
func (m leaseMachine) lease(s *leaseState, worker int, length uint8) string {
	if s.attempt >= leaseAttempts {
		s.gone = true // engine/calls/sql/whole/spent.sql
		return ""
	}
	if s.attempt == 0 || !m.countsNot {
		s.attempt++
	}
	holder, until := s.holder, s.until
	s.move(s.clock + length)
	s.holder, s.until = holder, until
	s.names(worker)
	if m.endsEarly {
		return s.has(worker, s.available+1)
	}
	return s.has(worker, s.available)
}

// block is how the transaction of one who has consumed it goes on.
func (m leaseMachine) block(w int, add addingLease) {
	add("worker %d commits", w, 0, func(s *leaseState) string {
		s.move(0)
		s.locked, s.gone = 0, true
		return ""
	})
	add("worker %d rolls back", w, 0, func(s *leaseState) string {
		s.locked, s.holder, s.until = 0, 0, 0
		return ""
	})
	for delay := range 2 {
		add("worker %d retries what it has consumed after %d and commits", w, delay, func(s *leaseState) string {
			s.attempt++
			s.move(s.clock + uint8(delay))
			s.due, s.locked, s.gone = s.available, 0, s.attempt >= leaseAttempts
			return ""
		})
	}
}

// settle is what can be done with the name of a lease.
func (m leaseMachine) settle(from *leaseState, w, i int, add addingLease) {
	t := from.tokens[w][i]
	late := func(wrong string) string {
		if t.lost {
			return wrong + " by a lease that is lost"
		}
		return ""
	}
	if !m.held(from, t) {
		return // it says that the lease is gone
	}
	add("worker %d acks by its lease %d", w, i, func(s *leaseState) string {
		s.move(0)
		s.gone = true
		return late("it is settled")
	})
	for delay := range 3 {
		add("worker %d retries after %d", w, delay, func(s *leaseState) string {
			s.gone = s.attempt >= leaseAttempts
			s.move(s.clock + uint8(delay))
			s.due = s.available
			return late("it is put back")
		})
	}
	for length := range 2 {
		if from.available == from.clock+uint8(length)+1 {
			continue // the name stays
		}
		extend := func(told bool) func(s *leaseState) string {
			return func(s *leaseState) string {
				s.move(s.clock + uint8(length) + 1)
				// Who makes it end again when it would have ended has its first name again.
				for j := range s.tokens[w] {
					if o := &s.tokens[w][j]; o.attempt == s.attempt && o.end == s.available {
						o.lost = false
					}
				}
				if told {
					s.names(w)
				}
				s.holder, s.until = uint8(w+1), s.available
				return late("it is kept")
			}
		}
		add("worker %d extends its lease to %d from now", w, length+1, extend(true))
		add("worker %d extends its lease to %d from now and does not get the answer", w, length+1, extend(false))
	}
}

func (m leaseMachine) check(t *testing.T) *statespace.Counterexample {
	t.Helper()
	space := statespace.Explore(leaseState{clock: 1, available: 1}, 1_000_000, m.next)
	states, steps := space.Size()
	t.Logf("%d states, %d steps", states, steps)
	return space.Wrong()
}

// TestLeasesChecked holds the statements about leases to what is promised: nobody gets what another
// works on, and a lost lease does nothing: neither to the message nor to who has it. fail does to
// the row what ack does.
func TestLeasesChecked(t *testing.T) {
	t.Parallel()
	if c := (leaseMachine{}).check(t); c != nil {
		t.Error(c)
	}
	for name, c := range map[string]struct {
		leaseMachine
		want string
	}{
		"a lease is named by its place only":          {leaseMachine{namesPlaceOnly: true}, "it is settled by a lease that is lost"},
		"attempts are not counted":                    {leaseMachine{countsNot: true}, "it is settled by a lease that is lost"},
		"what was put back is not told from a lease":  {leaseMachine{ignoresDue: true}, "it is settled by a lease that is lost"},
		"what a transaction has consumed is not held": {leaseMachine{ignoresLock: true}, "it is delivered to two at once"},
		"it comes again before the lease ends":        {leaseMachine{endsEarly: true}, "it is delivered to two at once"},
	} {
		t.Run(name, func(t *testing.T) {
			switch got := c.check(t); {
			case got == nil:
				t.Error("nothing is found")
			case got.What != c.want:
				t.Error(got)
			default:
				t.Log(got)
			}
		})
	}
}
