package life

import (
	"fmt"
	"math/rand/v2"
	"testing"
)

// model plays a driver with two goroutines, and both peers: it reports events in a random order, and holds what it is
// told to do against what a session may do. A driver with one goroutine has fewer orders.
type model struct {
	rnd   *rand.Rand
	state State
	trace []func() string

	replication bool
	outstanding int  // requests that the server has not answered
	transaction bool // it is in one
	pending     bool // a statement is with the Rewriter, or a reply with the proxy
	midMessage  bool // of the server's stream

	upstream   *Event // what the goroutine of the client's stream has met, and is about to report
	clientDone bool   // it has ended
	delivering bool   // ShutClient is under way: Delivered, or a failed write, is to come
	timer      bool

	messages, closes, clientShuts, serverShuts int
}

func (m *model) failf(t *testing.T, format string, args ...any) {
	t.Helper()
	for _, line := range m.trace {
		t.Log(line())
	}
	t.Fatalf(format, args...)
}

func (m *model) facts() Facts {
	return Facts{
		Served:   !m.replication && m.outstanding == 0 && !m.transaction,
		Pending:  m.pending,
		CanSpeak: !m.replication && !m.midMessage,
		Silent:   m.rnd.IntN(2) == 0, Provoked: m.rnd.IntN(2) == 0,
	}
}

// report gives the machine an event and carries out what it says.
func (m *model) report(t *testing.T, e Event) {
	t.Helper()
	f, before := m.facts(), m.state
	next, do := before.On(e, f)
	m.state = next
	m.trace = append(m.trace, func() string { return fmt.Sprintf("%v %+v: %v, %v", e, f, next, do) })
	says := do & (SayShutdown | SayServerEnded | SayLoopFailed)
	switch {
	case says != 0 && !f.CanSpeak:
		m.failf(t, "a message within another")
	case says != 0 && m.clientShuts > 0:
		m.failf(t, "a message behind the half close")
	case says != 0 && e == Drain && (m.outstanding > 0 || m.pending || m.transaction):
		m.failf(t, "drained while something is outstanding")
	case do.Has(Terminate) && (m.serverShuts > 0 || !f.Served || !before.Forwards()):
		m.failf(t, "a Terminate that the server cannot take")
	case do.Has(Close) != (next == Closed && before != Closed):
		m.failf(t, "Close and Closed do not come together")
	case do.Has(StopRewriter) != (before.ReadsServer() && !next.ReadsServer()):
		m.failf(t, "the Rewriter is stopped at another time than the server's stream")
	case next < before && next != Closed:
		m.failf(t, "back from %v to %v", before, next)
	}
	if says != 0 {
		m.messages++
	}
	if do.Has(ShutClient) {
		m.clientShuts++
		m.delivering = true
	}
	if do.Has(ShutServer) {
		m.serverShuts++
	}
	if do.Has(StartTimer) {
		m.timer = true
	}
	if do.Has(Close) {
		m.closes++
		m.timer = false
	}
	if m.messages > 1 || m.closes > 1 || m.clientShuts > 1 || m.serverShuts > 1 {
		m.failf(t, "%d messages, %d times closed, half closed %d and %d times", m.messages, m.closes, m.clientShuts, m.serverShuts)
	}
	if m.state == Lingering && !m.timer {
		m.failf(t, "nothing ends the lingering")
	}
}

// step lets one of those who take part do something.
func (m *model) step(t *testing.T) {
	t.Helper()
	switch m.rnd.IntN(10) {
	case 0: // the client's stream: what is met now is reported at a later step
		if m.upstream != nil {
			e := *m.upstream
			m.upstream = nil
			m.report(t, e)
			m.clientDone = m.clientDone || e == ClientEnded || e == ClientLost
		} else if m.state.ReadsClient() && !m.clientDone {
			met := []Event{ClientEnded, ClientLost}
			if m.state.Forwards() {
				met = append(met, ClientTerminated, ServerRefused)
			}
			e := met[m.rnd.IntN(len(met))]
			m.upstream = &e
		}
	case 1:
		if m.state.Forwards() {
			m.outstanding++
			m.transaction = m.rnd.IntN(4) == 0
		}
	case 2, 3:
		if m.state.ReadsServer() {
			m.outstanding = max(0, m.outstanding-1)
			m.midMessage = m.rnd.IntN(4) == 0
			m.transaction = m.transaction && m.rnd.IntN(2) == 0
		}
	case 4:
		m.pending = m.rnd.IntN(2) == 0
	case 5: // the server's stream
		if m.state.ReadsServer() && !m.delivering && m.rnd.IntN(4) == 0 {
			m.report(t, []Event{ServerEnded, LostSync}[m.rnd.IntN(2)])
		}
	case 6:
		if m.delivering {
			m.delivering = false
			m.report(t, []Event{Delivered, Cut}[m.rnd.IntN(2)])
		}
	case 7:
		if m.timer && m.rnd.IntN(2) == 0 {
			m.timer = false
			m.report(t, TimedOut)
		}
	case 8:
		m.report(t, Drain)
	case 9:
		if m.rnd.IntN(8) == 0 {
			m.report(t, []Event{Expire, Expire, Expire, Cut, LoopFailed}[m.rnd.IntN(5)])
		}
	}
}

// finish ends the session as Shutdown does when its time is over, with peers that do nothing.
func (m *model) finish(t *testing.T) {
	t.Helper()
	m.report(t, Expire)
	for range 2 {
		if m.timer {
			m.timer = false
			m.report(t, TimedOut)
		}
	}
	if m.state != Closed || m.closes != 1 {
		m.failf(t, "%v after Expire, closed %d times", m.state, m.closes)
	}
}

// TestRandomOrders reports events in random orders.
func TestRandomOrders(t *testing.T) {
	ends := map[State]int{}
	for seed := range uint64(20_000) {
		m := &model{rnd: rand.New(rand.NewPCG(seed, 10)), replication: seed%8 == 0}
		for range 5 + m.rnd.IntN(40) {
			m.step(t)
		}
		ends[m.state]++
		m.finish(t)
	}
	for s := Relaying; s <= Closed; s++ {
		if ends[s] == 0 {
			t.Errorf("no order has led to %v", s)
		}
	}
}

// TestPeersThatEnd: whatever came before, a session is closed once both peers have ended and the client has taken all.
func TestPeersThatEnd(t *testing.T) {
	for seed := range uint64(10_000) {
		m := &model{rnd: rand.New(rand.NewPCG(seed, 11))}
		for range m.rnd.IntN(40) {
			m.step(t)
		}
		if m.upstream != nil {
			e := *m.upstream
			m.upstream = nil
			m.report(t, e)
			m.clientDone = m.clientDone || e == ClientEnded || e == ClientLost
		}
		if m.state.ReadsClient() && !m.clientDone {
			m.report(t, ClientEnded)
		}
		if m.state.ReadsServer() {
			m.report(t, ServerEnded)
		}
		if m.delivering {
			m.delivering = false
			m.report(t, Delivered)
		}
		if m.state != Closed || m.closes != 1 {
			m.failf(t, "%v, closed %d times", m.state, m.closes)
		}
	}
}
