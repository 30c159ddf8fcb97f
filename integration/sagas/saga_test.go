package sagas

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"mbusproxy/examples/saga/tour" //nolint:depguard // the example is a client, no part of the product

	"mbusproxy/integration/internal/harness"
)

// The pattern as it should go: all reservations of a tour are made, or one fails and the others are
// cancelled. Six tours at once, one to be booked and one to fail at each step. When the world is flaky,
// every request fails once, before or after it was met.
func TestSaga(t *testing.T) {
	t.Parallel()
	for _, flaky := range []bool{false, true} {
		t.Run(fmt.Sprintf("flaky %v", flaky), func(t *testing.T) {
			t.Parallel()
			s := newSaga(t)
			var mu sync.Mutex // guards failing
			failing := map[int64]tour.Step{}
			fails := func(r tour.Request) bool {
				mu.Lock()
				defer mu.Unlock()
				return !r.Cancel && failing[r.TourID] == r.Step
			}
			s.serve(t, tour.Config{Mood: func(r tour.Request) tour.Mood {
				switch fails := fails(r); {
				case flaky && r.Attempt == 1 && (fails || r.Step == tour.Room || r.Cancel && r.Step == tour.TicketTo):
					return tour.Busy
				case flaky && r.Attempt == 1:
					return tour.Silent
				case fails:
					return tour.Refuses
				}
				return tour.Fine
			}})
			var ids []int64
			for _, step := range append([]tour.Step{""}, tour.Steps()...) {
				mu.Lock() // nobody asks for a tour before it is known where it fails
				id := s.start(t)
				failing[id] = step
				mu.Unlock()
				ids = append(ids, id)
			}
			for _, id := range ids {
				if got := s.await(t, id); got.State == tour.Cancelled && got.Reason != string(failing[id])+" was refused" {
					t.Errorf("to fail at %s, but rolled back because %s", failing[id], got.Reason)
				}
			}
			s.check(t, tour.Booked, tour.Cancelled, tour.Cancelled, tour.Cancelled, tour.Cancelled, tour.Cancelled)
		})
	}
}

// A step that is tried too often is given up, and what it may have booked is cancelled.
func TestSagaTooManyAttempts(t *testing.T) {
	t.Parallel()
	s := newSaga(t)
	var asked atomic.Int32
	s.serve(t, tour.Config{Mood: func(r tour.Request) tour.Mood {
		if r.Step != tour.TransferTo || r.Cancel {
			return tour.Fine
		}
		asked.Add(1)
		return tour.Silent
	}})
	s.book(t)
	s.check(t, tour.Cancelled)
	if got := s.outcome(t, tour.TransferTo); got != "cancelled|cancelled|1" || asked.Load() != 3 {
		t.Errorf("the transfer is %s after %d attempts; want it booked, and cancelled, after 3", got, asked.Load())
	}
}

// One branch fails while the other one is in the middle of its step: the rollback waits for it, and
// whatever it does then, nothing of it stays.
func TestSagaRollbackDuringStep(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name    string
		held    tour.Step // in the middle of it
		refused tour.Step // meanwhile
		mood    tour.Mood // towards the held step, in the end
		dies    bool
		records string // what may become of it, see outcome
	}{
		{"it is booked", tour.TicketTo, tour.TicketFrom, tour.Fine, false, "cancelled|cancelled|1"},
		{"it is refused, too", tour.TicketFrom, tour.TicketTo, tour.Refuses, false, "cancelled|refused|0"},
		// Its request may be the last thing that happens.
		{"it dies", tour.TicketTo, tour.TicketFrom, tour.Fine, true, "cancelled|cancelled|1, cancelled|void|0"},
		// Behind a ticket waits a transfer, which the rollback takes first. Behind a transfer waits nothing.
		{"it is put back", tour.TicketTo, tour.TicketFrom, tour.Busy, false, "cancelled|void|0"},
		{"the last step is put back", tour.TransferTo, tour.TransferFrom, tour.Busy, false, "cancelled|void|0"},
		{"it is booked and put back", tour.TransferFrom, tour.TransferTo, tour.Silent, false, "cancelled|cancelled|1"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			s := newSaga(t)
			reached, release := make(chan struct{}), make(chan struct{})
			var once sync.Once
			var holder atomic.Value
			s.serve(t, tour.Config{
				Watch: func(e tour.Event) {
					if e.Moment == tour.Received && e.Step == test.held && !strings.HasPrefix(e.Service, "cancel-") {
						holder.CompareAndSwap(nil, e.Service)
					}
				},
				Mood: func(r tour.Request) tour.Mood {
					switch {
					case r.Cancel:
						return tour.Fine
					case r.Step == test.refused:
						pass(t, reached)
						return tour.Refuses
					case r.Step == test.held:
						once.Do(func() { close(reached) })
						pass(t, release)
						return test.mood
					}
					return tour.Fine
				},
			})
			id := s.start(t)
			pass(t, reached)
			s.untilBlocked(t)
			if test.dies {
				s.cut(t, holder.Load().(string))
			}
			close(release)
			s.await(t, id)
			if test.dies {
				s.until(t, "select exists (select from outside.booking where step = $1 and state <> 'booked')", test.held)
			}
			if got := s.outcome(t, test.held); !slices.Contains(strings.Split(test.records, ", "), got) {
				t.Errorf("%s is %s; want %s", test.held, got, test.records)
			}
			s.check(t, tour.Cancelled)
		})
	}
}

// A service loses its connection, does not notice, and asks the world outside when the tour has long
// been rolled back.
func TestSagaLateRequest(t *testing.T) {
	t.Parallel()
	for _, moment := range []string{"before it noted that it asks", "before it asks"} {
		t.Run(moment, func(t *testing.T) {
			t.Parallel()
			s := newSaga(t)
			otherIsBusy, isLate, isOver, lost := make(chan struct{}), make(chan struct{}), make(chan struct{}), make(chan struct{})
			var otherReceived, wasLost sync.Once
			beginLate := sync.OnceFunc(func() { close(isLate) })
			var late atomic.Value // the service
			beLate := func() {
				pass(t, otherIsBusy) // so it will not get this message when the connection is gone
				s.cut(t, late.Load().(string))
				beginLate()
				pass(t, isOver)
			}
			s.serve(t, tour.Config{
				Watch: func(e tour.Event) {
					switch {
					case e.Moment == tour.Received && e.Step == tour.TicketFrom:
						otherReceived.Do(func() { close(otherIsBusy) })
					case e.Moment == tour.Received && e.Step == tour.TicketTo && !strings.HasPrefix(e.Service, "cancel-") && late.CompareAndSwap(nil, e.Service):
						if moment == "before it noted that it asks" {
							beLate()
						}
					case e.Moment == tour.Lost && e.Service == late.Load():
						wasLost.Do(func() { close(lost) })
					}
				},
				Mood: func(r tour.Request) tour.Mood {
					switch {
					case r.Step == tour.TicketTo && !r.Cancel:
						beLate()
					case r.Step == tour.TicketFrom && !r.Cancel:
						pass(t, isLate)
						return tour.Refuses
					}
					return tour.Fine
				},
			})
			s.book(t)
			close(isOver)
			pass(t, lost)
			want := harness.Null + "|" + harness.Null + "|0"
			if moment == "before it asks" {
				want = "cancelled|void|0"
			}
			if got := s.outcome(t, tour.TicketTo); got != want {
				t.Errorf("the ticket is %s; want %s", got, want)
			}
			s.check(t, tour.Cancelled)
		})
	}
}

// A service loses its connection, does not notice, and notes that it is about to ask while the one that
// got the message notes the answer: neither waits for the other.
func TestSagaLateIntention(t *testing.T) {
	t.Parallel()
	s := newSaga(t)
	asked, locked, release, isSeen := make(chan struct{}), make(chan struct{}), make(chan struct{}), make(chan struct{})
	var requests atomic.Int32 // for the ticket
	var late atomic.Value     // the service
	s.serve(t, tour.Config{
		Watch: func(e tour.Event) {
			if e.Moment == tour.Received && e.Step == tour.TicketTo && late.CompareAndSwap(nil, e.Service) {
				s.cut(t, e.Service)
				pass(t, release)
			}
		},
		Mood: func(r tour.Request) tour.Mood {
			if r.Step == tour.TicketTo {
				if requests.Add(1) == 1 {
					close(asked)
					pass(t, locked)
				} else {
					pass(t, isSeen) // so the session of the late one shows what it asked last
				}
			}
			return tour.Fine
		},
	})
	id := s.start(t)
	pass(t, asked)
	// So the transaction that notes the answer stops at the row of the tour.
	holder := harness.Connect(t, harness.Direct(), s.database)
	harness.Ask(t, holder, "begin")
	harness.Ask(t, holder, "select tour_id from tour where tour_id = $1 for share", id)
	close(locked)
	s.untilBlocked(t)
	close(release)
	s.until(t, "select exists (select from pg_stat_activity where datname = current_database() and application_name = $1 and query like '%for share%' and (state = 'idle' or wait_event_type = 'Lock'))", late.Load().(string)+" aside")
	harness.Ask(t, holder, "commit")
	close(isSeen)
	s.await(t, id)
	s.check(t, tour.Booked)
}

// Ten tours at once, with requests that fail and connections that are killed at random.
func TestSagaMany(t *testing.T) {
	t.Parallel()
	const tours = 10
	s := newSaga(t)
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	var mu sync.Mutex // guards random
	random := rand.New(rand.NewPCG(seed, 0))
	chance := func(percent int) bool {
		mu.Lock()
		defer mu.Unlock()
		return random.IntN(100) < percent
	}
	var kills atomic.Int32
	s.serve(t, tour.Config{
		Mood: func(r tour.Request) tour.Mood {
			switch {
			case chance(10):
				return tour.Busy
			case chance(10):
				return tour.Silent
			case !r.Cancel && chance(12):
				return tour.Refuses
			}
			return tour.Fine
		},
		Watch: func(e tour.Event) {
			if e.Moment == tour.Committed || e.Moment == tour.Lost || !chance(12) {
				return
			}
			kills.Add(1)
			if chance(50) {
				s.cut(t, e.Service)
			} else {
				s.terminate(t, e.Service)
			}
		},
	})
	ids := make([]int64, tours)
	for i := range ids {
		ids[i] = s.start(t)
	}
	for _, id := range ids {
		s.await(t, id)
	}
	s.check(t)
	t.Logf("%d kills; %s", kills.Load(), s.ask(t, "select string_agg(n || ' ' || state, ', ') from (select state, count(*) as n from tour group by state) c"))
}
