package taken

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"mbusproxy/proxy/statements"
)

// taking is a plan that takes messages.
type taking struct {
	statements.Plan
	takes statements.Takes
}

func (p taking) Takes() statements.Takes { return p.takes }

// savepointModel is what a transaction holds as the server sees it: each savepoint has what was held when it was set.
type savepointModel struct {
	held int64
	at   []int64
}

// What is shown is what is held, as long as nobody goes back to another savepoint than the last; and else never less.
func TestHeldMessagesOfRandomTransactions(t *testing.T) {
	for seed := range uint64(3000) {
		r := rand.New(rand.NewPCG(seed, 1))
		onlyLast := seed%2 == 0
		var h Messages
		var m savepointModel
		did := ""
		complete := func(tag string) {
			if did += tag + "; "; h.Any() {
				h.Completed(tag)
			}
		}
		for range 40 {
			last := len(m.at) - 1
			which := last
			if !onlyLast && last > 0 {
				which = r.IntN(last + 1)
			}
			switch r.IntN(8) {
			case 0, 1, 2:
				n := r.Int64N(3)
				m.held += n
				did += fmt.Sprintf("take %d; ", n)
				h.Took(taking{takes: statements.TakesRows}, fmt.Sprintf("SELECT %d", n))
			case 3, 4:
				m.at = append(m.at, m.held)
				complete("SAVEPOINT")
			case 5:
				if last < 0 {
					break
				}
				m.at = m.at[:which]
				complete("RELEASE")
			case 6:
				if last < 0 {
					break
				}
				m.held, m.at = m.at[which], m.at[:which+1]
				complete("ROLLBACK")
			case 7: // an error, and back to where one can go on
				if last < 0 {
					break
				}
				m.held = m.at[last]
				if did += "error; "; h.Any() {
					h.Ready('E')
				}
				m.held, m.at = m.at[which], m.at[:which+1]
				complete("ROLLBACK")
			}
			if got := h.Shown(); got < m.held || onlyLast && got != m.held {
				t.Fatalf("seed %d: %d are shown, %d are held after %s", seed, got, m.held, did)
			}
		}
		if h.Ready('I'); h.Shown() != 0 || h.savepoints != nil {
			t.Fatalf("%d are shown at the end", h.Shown())
		}
	}
}

// A driver that sets a savepoint before each statement and releases none makes nothing grow, and
// what cannot be kept is not known.
func TestHeldMessagesAreBounded(t *testing.T) {
	var h Messages
	h.Took(taking{takes: statements.TakesRows}, "SELECT 1")
	for range 100_000 {
		h.Completed("SAVEPOINT")
	}
	if len(h.savepoints) != 1 || h.Shown() != 1 {
		t.Errorf("%d kept, %d shown", len(h.savepoints), h.Shown())
	}
	for range maxSavepoints + 10 {
		h.Took(taking{takes: statements.TakesRows}, "SELECT 1")
		h.Completed("SAVEPOINT")
	}
	if len(h.savepoints) != maxSavepoints || h.Shown() != -1 {
		t.Errorf("%d kept, %d shown", len(h.savepoints), h.Shown())
	}
}

// Of what the reply does not tell nothing is shown until the end of the transaction; what takes
// nothing changes nothing.
func TestHeldMessagesNotKnown(t *testing.T) {
	var h Messages
	h.Took(taking{takes: statements.TakesNothing}, "SELECT 5")
	h.Suspended(taking{takes: statements.TakesNothing})
	if h.Any() {
		t.Error("a statement that takes nothing holds something")
	}
	h.Suspended(taking{takes: statements.TakesRows})
	h.Took(taking{takes: statements.TakesRows}, "SELECT 5")
	if h.Shown() != -1 {
		t.Errorf("%d are shown", h.Shown())
	}
	h.Completed("COMMIT")
	h.Took(taking{takes: statements.TakesSome}, "INSERT 0 5")
	if h.Shown() != -1 {
		t.Errorf("%d are shown", h.Shown())
	}
	h.Completed("ROLLBACK")
	if h.Any() || h.Shown() != 0 {
		t.Errorf("%d are shown", h.Shown())
	}
	for tag, n := range map[string]int64{"SELECT 12": 12, "INSERT 0 7": 7, "DO": 0, "": 0, "SELECT -1": 0, "CALL x": 0} {
		if got := rowsOf(tag); got != n {
			t.Errorf("%q has %d rows, not %d", tag, got, n)
		}
	}
}
