package sagas

import (
	"fmt"
	"strings"
	"sync"
	"testing"

	"mbusproxy/examples/saga/tour" //nolint:depguard // the example is a client, no part of the product
)

// Every service loses its connection at every moment of its work, once: before it asks the world
// outside, when it has the answer, and when it has taken the messages of the other way. It goes on as
// if nothing had happened until the connection fails it, as a service does.
func TestSagaConnectionsKilled(t *testing.T) {
	t.Parallel()
	kills := map[string]func(*saga, *testing.T, string){"cut": (*saga).cut, "terminated": (*saga).terminate}
	for manner, kill := range kills {
		for _, failing := range []tour.Step{"", tour.TicketFrom, tour.TransferFrom} {
			t.Run(fmt.Sprintf("%s, fail at %q", manner, failing), func(t *testing.T) {
				t.Parallel()
				s := newSaga(t)
				var mu sync.Mutex
				killed := map[string]bool{}
				s.serve(t, tour.Config{
					Mood: func(r tour.Request) tour.Mood {
						if !r.Cancel && r.Step == failing {
							return tour.Refuses
						}
						return tour.Fine
					},
					Watch: func(e tour.Event) {
						way := "forward"
						if strings.HasPrefix(e.Service, "cancel-") {
							way = "back"
						}
						at := fmt.Sprint(way, " ", e.Step, " ", e.Moment)
						mu.Lock()
						first := !killed[at] && e.Moment != tour.Committed && e.Moment != tour.Lost
						if first {
							killed[at] = true
						}
						mu.Unlock()
						if first {
							kill(s, t, e.Service)
						}
					},
				})
				s.book(t)
				want := tour.Booked
				if failing != "" {
					want = tour.Cancelled
				}
				s.check(t, want)
				mu.Lock()
				defer mu.Unlock()
				for _, at := range momentsPassed(failing) {
					if !killed[at] {
						t.Errorf("nothing was killed at %s; killed: %v", at, killed)
					}
				}
			})
		}
	}
}

// momentsPassed lists the moments that every run with this failure has.
func momentsPassed(failing tour.Step) (at []string) {
	add := func(way string, step tour.Step, moments ...tour.Moment) {
		for _, m := range moments {
			at = append(at, fmt.Sprint(way, " ", step, " ", m))
		}
	}
	if failing == "" {
		for _, s := range tour.Steps() {
			add("forward", s, tour.Received, tour.Answered)
		}
		add("forward", "", tour.Received, tour.Taken)
		return at
	}
	add("forward", tour.Room, tour.Received, tour.Answered)
	add("forward", failing, tour.Received, tour.Taken)
	for _, s := range tour.Steps() {
		add("back", s, tour.Received)
	}
	add("back", tour.Room, tour.Answered)
	add("back", "", tour.Received)
	return at
}

// A process with a service in it is killed in the middle of a step. What it booked is not booked
// again, or is cancelled when another branch fails.
func TestSagaProcessKilled(t *testing.T) {
	t.Parallel()
	for _, failing := range []tour.Step{"", tour.TransferTo} {
		t.Run(fmt.Sprintf("fail at %q", failing), func(t *testing.T) {
			t.Parallel()
			s := newSaga(t)
			booked := make(chan struct{})
			s.serve(t, tour.Config{Mood: func(r tour.Request) tour.Mood {
				if r.Step == failing && !r.Cancel {
					pass(t, booked)
					return tour.Refuses
				}
				return tour.Fine
			}}, "rooms", "tickets", "transfers-to", "finisher", "cancel")
			process := s.program(t, "-services", "transfers-from", "-tours", "0", "-hang-at", "transfer-from")
			if err := process.Start(); err != nil {
				t.Fatal(err)
			}
			id := s.start(t)
			s.until(t, "select exists (select from outside.booking where step = 'transfer-from' and state = 'booked')")
			close(booked)
			if failing != "" {
				s.untilBlocked(t) // the rollback, on the process
			}
			_ = process.Process.Kill() // Wait tells
			if err := process.Wait(); err == nil || process.ProcessState.ExitCode() != -1 {
				t.Errorf("the process was not killed: %v", process.ProcessState)
			}
			want := tour.Cancelled
			if failing == "" {
				want = tour.Booked
				s.serve(t, tour.Config{}, "transfers-from")
			}
			s.await(t, id)
			s.check(t, want)
		})
	}
}
