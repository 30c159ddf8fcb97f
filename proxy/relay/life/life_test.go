package life

import (
	"fmt"
	"strings"
	"testing"
)

// table is every state with every event. A line names an event, the facts that it depends on ("-" before a fact: it
// does not hold), the next state and the actions. "stays" means that nothing changes or is done.
const table = `
Relaying
	ClientTerminated                    Terminated
	ClientEnded                         HalfClosed: ShutServer
	ClientLost                          Closed: StopRewriter Close
	ServerRefused                       Refused
	ServerEnded  -speak                 Delivering: StopRewriter ShutClient
	ServerEnded  speak -silent          Delivering: StopRewriter ShutClient
	ServerEnded  speak silent provoked  Delivering: StopRewriter ShutClient
	ServerEnded  speak silent -provoked Delivering: StopRewriter SayServerEnded ShutClient
	LostSync                            Delivering: StopRewriter StartTimer ShutClient ShutServer
	Drain  -served                      Draining
	Drain  served pending               Draining
	Drain  served -pending -speak       Draining
	Drain  served -pending speak        Delivering: StopRewriter StartTimer SayShutdown ShutClient Terminate ShutServer
	Expire -served -speak               Delivering: StopRewriter StartTimer ShutClient ShutServer
	Expire -served speak                Delivering: StopRewriter StartTimer SayShutdown ShutClient ShutServer
	Expire served -speak                Delivering: StopRewriter StartTimer ShutClient Terminate ShutServer
	Expire served speak                 Delivering: StopRewriter StartTimer SayShutdown ShutClient Terminate ShutServer
	Delivered                           impossible
	TimedOut                            impossible
	LoopFailed -served -speak           Closed: StopRewriter Close
	LoopFailed -served speak            Closed: StopRewriter SayLoopFailed Close
	LoopFailed served -speak            Closed: StopRewriter Terminate Close
	LoopFailed served speak             Closed: StopRewriter SayLoopFailed Terminate Close
	Cut                                 Closed: StopRewriter Close
Draining
	ClientTerminated                    Terminated
	ClientEnded                         HalfClosed: ShutServer
	ClientLost                          Closed: StopRewriter Close
	ServerRefused                       Refused
	ServerEnded  -speak                 Delivering: StopRewriter ShutClient
	ServerEnded  speak -silent          Delivering: StopRewriter ShutClient
	ServerEnded  speak silent provoked  Delivering: StopRewriter ShutClient
	ServerEnded  speak silent -provoked Delivering: StopRewriter SayServerEnded ShutClient
	LostSync                            Delivering: StopRewriter StartTimer ShutClient ShutServer
	Drain  -served                      stays
	Drain  served pending               stays
	Drain  served -pending -speak       stays
	Drain  served -pending speak        Delivering: StopRewriter StartTimer SayShutdown ShutClient Terminate ShutServer
	Expire -served -speak               Delivering: StopRewriter StartTimer ShutClient ShutServer
	Expire -served speak                Delivering: StopRewriter StartTimer SayShutdown ShutClient ShutServer
	Expire served -speak                Delivering: StopRewriter StartTimer ShutClient Terminate ShutServer
	Expire served speak                 Delivering: StopRewriter StartTimer SayShutdown ShutClient Terminate ShutServer
	Delivered                           impossible
	TimedOut                            impossible
	LoopFailed -served -speak           Closed: StopRewriter Close
	LoopFailed -served speak            Closed: StopRewriter SayLoopFailed Close
	LoopFailed served -speak            Closed: StopRewriter Terminate Close
	LoopFailed served speak             Closed: StopRewriter SayLoopFailed Terminate Close
	Cut                                 Closed: StopRewriter Close
Terminated
	ClientTerminated                    impossible
	ClientEnded                         HalfClosed
	ClientLost                          HalfClosed
	ServerRefused                       stays
	ServerEnded                         Delivering: StopRewriter ShutClient
	LostSync                            Delivering: StopRewriter StartTimer ShutClient ShutServer
	Drain                               stays
	Expire served                       Delivering: StopRewriter StartTimer ShutClient ShutServer
	Expire -served -speak               Delivering: StopRewriter StartTimer ShutClient ShutServer
	Expire -served speak                Delivering: StopRewriter StartTimer SayShutdown ShutClient ShutServer
	Delivered                           impossible
	TimedOut                            impossible
	LoopFailed served                   Closed: StopRewriter Close
	LoopFailed -served -speak           Closed: StopRewriter Close
	LoopFailed -served speak            Closed: StopRewriter SayLoopFailed Close
	Cut                                 Closed: StopRewriter Close
Refused
	ClientTerminated                    impossible
	ClientEnded                         HalfClosed
	ClientLost                          HalfClosed
	ServerRefused                       stays
	ServerEnded  -speak                 Delivering: StopRewriter ShutClient
	ServerEnded  speak -silent          Delivering: StopRewriter ShutClient
	ServerEnded  speak silent provoked  Delivering: StopRewriter ShutClient
	ServerEnded  speak silent -provoked Delivering: StopRewriter SayServerEnded ShutClient
	LostSync                            Delivering: StopRewriter StartTimer ShutClient ShutServer
	Drain                               stays
	Expire -speak                       Delivering: StopRewriter StartTimer ShutClient ShutServer
	Expire speak                        Delivering: StopRewriter StartTimer SayShutdown ShutClient ShutServer
	Delivered                           impossible
	TimedOut                            impossible
	LoopFailed -speak                   Closed: StopRewriter Close
	LoopFailed speak                    Closed: StopRewriter SayLoopFailed Close
	Cut                                 Closed: StopRewriter Close
HalfClosed
	ClientTerminated                    impossible
	ClientEnded                         impossible
	ClientLost                          impossible
	ServerRefused                       stays
	ServerEnded                         DeliveringHalfClosed: StopRewriter ShutClient
	LostSync                            DeliveringHalfClosed: StopRewriter StartTimer ShutClient
	Drain                               stays
	Expire served                       DeliveringHalfClosed: StopRewriter StartTimer ShutClient
	Expire -served -speak               DeliveringHalfClosed: StopRewriter StartTimer ShutClient
	Expire -served speak                DeliveringHalfClosed: StopRewriter StartTimer SayShutdown ShutClient
	Delivered                           impossible
	TimedOut                            impossible
	LoopFailed served                   Closed: StopRewriter Close
	LoopFailed -served -speak           Closed: StopRewriter Close
	LoopFailed -served speak            Closed: StopRewriter SayLoopFailed Close
	Cut                                 Closed: StopRewriter Close
Delivering
	ClientTerminated                    stays
	ClientEnded                         DeliveringHalfClosed
	ClientLost                          DeliveringHalfClosed
	ServerRefused                       stays
	ServerEnded                         impossible
	LostSync                            impossible
	Drain                               stays
	Expire                              Delivering: StartTimer
	Delivered                           Lingering: StartTimer
	TimedOut                            Closed: Close
	LoopFailed                          Closed: Close
	Cut                                 Closed: Close
DeliveringHalfClosed
	ClientTerminated                    impossible
	ClientEnded                         impossible
	ClientLost                          impossible
	ServerRefused                       stays
	ServerEnded                         impossible
	LostSync                            impossible
	Drain                               stays
	Expire                              DeliveringHalfClosed: StartTimer
	Delivered                           Closed: Close
	TimedOut                            Closed: Close
	LoopFailed                          Closed: Close
	Cut                                 Closed: Close
Lingering
	ClientTerminated                    stays
	ClientEnded                         Closed: Close
	ClientLost                          Closed: Close
	ServerRefused                       stays
	ServerEnded                         impossible
	LostSync                            impossible
	Drain                               stays
	Expire                              stays
	Delivered                           impossible
	TimedOut                            Closed: Close
	LoopFailed                          Closed: Close
	Cut                                 Closed: Close
Closed
	ClientTerminated                    stays
	ClientEnded                         stays
	ClientLost                          stays
	ServerRefused                       stays
	ServerEnded                         stays
	LostSync                            stays
	Drain                               stays
	Expire                              stays
	Delivered                           stays
	TimedOut                            stays
	LoopFailed                          stays
	Cut                                 stays
`

// row is a line of the table.
type row struct {
	facts []string
	want  string
}

// allFacts are all combinations of facts, named as in the table.
func allFacts() (all []Facts) {
	for i := range 32 {
		all = append(all, Facts{Served: i&1 > 0, Pending: i&2 > 0, CanSpeak: i&4 > 0, Silent: i&8 > 0, Provoked: i&16 > 0})
	}
	return all
}

func (r row) matches(f Facts) bool {
	held := map[string]bool{"served": f.Served, "pending": f.Pending, "speak": f.CanSpeak, "silent": f.Silent, "provoked": f.Provoked}
	for _, fact := range r.facts {
		name, not := strings.CutPrefix(fact, "-")
		if value, known := held[name]; !known {
			panic("no such fact: " + name)
		} else if value == not {
			return false
		}
	}
	return true
}

// TestTable compares each transition, with all combinations of facts, with the table.
func TestTable(t *testing.T) {
	rows := map[string][]row{}
	state := ""
	for line := range strings.Lines(table) {
		words := strings.Fields(line)
		switch {
		case len(words) == 0:
			continue
		case line[0] != '\t':
			state = words[0]
			continue
		}
		event, n := words[0], 1
		for n < len(words) && strings.ToLower(words[n][:1]) == words[n][:1] && words[n] != "stays" && words[n] != "impossible" {
			n++
		}
		rows[state+" "+event] = append(rows[state+" "+event], row{words[1:n], strings.Join(words[n:], " ")})
	}
	seen := 0
	for s := Relaying; s <= Closed; s++ {
		for e := ClientTerminated; e <= Cut; e++ {
			for _, f := range allFacts() {
				var want []string
				for _, r := range rows[fmt.Sprint(s, " ", e)] {
					if r.matches(f) {
						want = append(want, r.want)
					}
				}
				if len(want) != 1 {
					t.Fatalf("%v, %v, %+v: %d rows", s, e, f, len(want))
				}
				if got := transition(s, e, f); got != want[0] {
					t.Errorf("%v, %v, %+v: %s; want %s", s, e, f, got, want[0])
				}
			}
			seen++
		}
	}
	if len(rows) != seen {
		t.Errorf("%d states with events in the table, want %d", len(rows), seen)
	}
}

// transition is what On does, as a row of the table has it.
func transition(s State, e Event, f Facts) (text string) {
	defer func() {
		if recover() != nil {
			text = "impossible"
		}
	}()
	next, do := s.On(e, f)
	switch {
	case next == s && do == 0:
		return "stays"
	case do == 0:
		return next.String()
	default:
		return fmt.Sprint(next, ": ", do)
	}
}

// TestUnknown: what no constant names is impossible, and has a name all the same.
func TestUnknown(t *testing.T) {
	if got := transition(Closed+1, ClientEnded, Facts{}); got != "impossible" {
		t.Errorf("a state: %s", got)
	}
	if got := transition(Relaying, Cut+1, Facts{}); got != "impossible" {
		t.Errorf("an event: %s", got)
	}
	if got := fmt.Sprint(Closed+1, Cut+1, Close<<1); got != "unknown (9) unknown (12) unknown (9)" {
		t.Error(got)
	}
}
