package waiting

import (
	"mbusproxy/engine/internal/statespace"
)

type step = statespace.Step[state]

// next gives the steps that a state allows.
func (m *machine) next(from state) (out []step) {
	add := func(inner bool, do func(s *state) (wrong string), name string, of ...int) {
		to := from
		wrong := do(&to)
		m.sort(&to)
		label := statespace.Label{Text: name}
		for i, n := range of {
			label.Of[i] = int8(n)
		}
		out = append(out, step{Label: label, Inner: inner, Timed: name == sweeps, Wrong: wrong, To: to})
	}
	m.clients(&from, add)
	for i := range m.calls {
		m.call(&from, i, add)
	}
	for n := range m.proxies {
		m.watcher(&from, n, add)
	}
	return out
}

// sweeps is the one step that comes in its own time.
const sweeps = "watcher %d sweeps"

type adding func(inner bool, do func(s *state) (wrong string), name string, of ...int)

// clients are those who do not wait, and time.
func (m *machine) clients(from *state, add adding) {
	for i := range m.messages {
		if from.messages[i] != messageUnposted {
			continue
		}
		for n := range m.proxies + 1 {
			if n < m.proxies && from.proxies[n].down || n == m.proxies && !m.past {
				continue
			}
			post := func(as messageState) func(s *state) string {
				return func(s *state) string {
					s.messages[i] = as
					return m.ended(s, n, m.of[i])
				}
			}
			there, delayed := "message %d is posted at proxy %d", "message %d is posted with a delay at proxy %d"
			if n == m.proxies {
				there, delayed = "message %d is posted past the proxies", "message %d is posted with a delay past the proxies"
			}
			add(false, post(messageThere), there, i, n)
			if m.delays && int(from.clock) <= i {
				add(false, post(messageDelayed), delayed, i, n)
			}
		}
	}
	for i := range m.messages {
		if !m.past && !m.takes || from.messages[i] != messageThere {
			continue
		}
		switch from.holders[i] {
		case 0:
			add(false, func(s *state) string { s.holders[i] = otherHolder; return "" }, "somebody past the proxies consumes message %d", i)
		case otherHolder:
			if m.past {
				add(false, func(s *state) string { s.holders[i] = 0; return m.ended(s, m.proxies, m.of[i]) }, "and rolls back")
			}
			add(false, func(s *state) string {
				s.holders[i], s.messages[i] = 0, messageGone
				return m.ended(s, m.proxies, m.of[i])
			}, "and commits")
		}
	}
	if m.delays && int(from.clock) < m.messages {
		add(false, func(s *state) string {
			if i := int(s.clock); s.messages[i] == messageDelayed {
				s.messages[i] = messageThere
			}
			s.clock++
			return ""
		}, "time %d comes", int(from.clock)+1)
	}
	for n := range m.proxies {
		if m.crashes && !from.proxies[n].down {
			add(false, func(s *state) string { return m.crash(s, n) }, "proxy %d crashes", n)
		}
	}
}

// ended ends a transaction at a proxy, or past them, that concerns the queue of a line.
func (m *machine) ended(s *state, at, line int) string {
	for n := range m.proxies {
		s.proxies[n].moved = !s.proxies[n].down && s.proxies[n].phase != watcherClosed && m.sweeps
	}
	if at < m.proxies && m.mutation != silent {
		switch {
		case m.mutation == namesOther:
			line = 1 - line
			fallthrough
		default:
			s.proxies[at].ended |= 1 << line
		case m.unnamed:
			s.proxies[at].ended = inAny
		}
	}
	return ""
}

// crash has the server roll back what the proxy's sessions did.
func (m *machine) crash(s *state, n int) string {
	for i := range m.calls {
		if m.proxy[i] == n {
			if c := &s.calls[i]; c.message != 0 {
				s.holders[c.message-1] = 0
			}
			s.calls[i] = callState{}
		}
	}
	s.proxies[n] = proxyState{down: true}
	return m.ended(s, m.proxies, 0)
}

// call has the steps of a call. See package pipeline, goOnWaiting and awaitTurn, and callWait of internal/rewriter.
func (m *machine) call(from *state, i int, add adding) {
	n := m.proxy[i]
	if from.proxies[n].down {
		return
	}
	c := from.calls[i]
	// lines does something to the Lines, and has the call in a phase then.
	lines := func(to callPhase, do func(l *Lines, p *Place)) func(s *state) string {
		return func(s *state) string {
			return m.with(s, n, func(l *Lines, places *[mostCalls]*Place) { do(l, places[i]) }, func() { s.calls[i].phase = to })
		}
	}
	leave := func(to callPhase, served bool) func(s *state) string {
		return lines(to, func(_ *Lines, p *Place) { p.Leave(served || m.mutation == keepsTurn) })
	}
	exitAndLeave := lines(callOut, func(_ *Lines, p *Place) {
		p.exit()
		p.Leave(m.mutation == keepsTurn)
	})
	look := lines(waitAsked, func(_ *Lines, p *Place) {
		p.exit()
		p.Look()
	})
	switch c.phase {
	case callOut:
		add(false, func(s *state) string {
			return m.with(s, n, func(l *Lines, places *[mostCalls]*Place) {
				key := keyOf(m.line[i], m.selective)
				old := l.lines[key] != nil
				places[i] = l.Join(key)
				places[i].Look()
				if m.mutation == forgetsNew && !old {
					l.lines[key].fresh = false
				}
			}, func() { s.calls[i].phase = waitAsked })
		}, "call %d comes and looks", i)
		if l, _, _ := m.open(from, n); !m.selective && l.lines[keyOf(m.line[i], false)] != nil && len(l.lines[keyOf(m.line[i], false)].idle) > 0 {
			add(false, func(s *state) string {
				return m.with(s, n, func(l *Lines, places *[mostCalls]*Place) {
					places[i] = l.Join(keyOf(m.line[i], false))
					if !places[i].Stand() {
						panic("it cannot stand behind others")
					}
				}, func() { s.calls[i].phase = waitIdle })
			}, "call %d comes and stands behind others", i)
		}
	case waitAsked:
		if found := m.first(from, i); found >= 0 {
			add(true, func(s *state) string {
				s.calls[i].phase, s.calls[i].message, s.calls[i].stale, s.holders[found] = waitFound, uint8(found+1), false, uint8(i+1)
				return ""
			}, "its look locks message %d for call %d", found, i)
		} else {
			add(true, func(s *state) string { s.calls[i].phase = waitNothing; return "" }, "the look of call %d finds nothing", i)
		}
	case waitFound:
		add(true, leave(callHolds, true), "the statement of call %d runs", i)
		if m.loses {
			add(false, leave(callReleases, false), "call %d is cancelled with a message locked", i)
		}
	case waitNothing:
		add(true, lines(waitIdle, func(l *Lines, p *Place) {
			if m.mutation == forgetsVersion {
				p.version = l.version
			}
			p.enter()
		}), "call %d waits", i)
		if m.cancels {
			add(false, leave(callOut, false), "call %d is cancelled after its look", i)
		}
	case waitIdle:
		if c.woken {
			add(true, look, "call %d is woken and looks", i)
		}
		if m.cancels {
			add(false, exitAndLeave, "call %d is cancelled", i)
		}
		if m.cancels && !c.woken { // Place.timeOut
			add(false, lines(waitOver, func(_ *Lines, p *Place) { p.exit() }), "the time of call %d is over", i)
			add(false, look, "call %d looks so that its session is not idle for too long", i)
		}
	case waitOver:
		add(true, leave(callRuns, true), "call %d leaves the line", i)
		add(false, leave(callOut, false), "call %d is cancelled at its end", i)
	case callRuns:
		if found := m.first(from, i); found >= 0 {
			add(true, func(s *state) string {
				s.calls[i].phase, s.calls[i].message, s.holders[found] = callHolds, uint8(found+1), uint8(i+1)
				return ""
			}, "the statement of call %d consumes message %d", i, found)
		} else {
			add(true, func(s *state) string { s.calls[i] = callState{}; return m.ended(s, n, m.line[i]) }, "the statement of call %d finds nothing", i)
		}
	case callReleases:
		add(true, func(s *state) string { return m.end(s, i, messageThere, m.proxies) }, "its transaction ends")
	case callHolds:
		add(false, func(s *state) string { return m.end(s, i, messageGone, n) }, "call %d commits", i)
		add(false, func(s *state) string { return m.end(s, i, messageThere, n) }, "call %d rolls back", i)
		if m.delays && int(from.clock) < int(c.message) {
			add(false, func(s *state) string { return m.end(s, i, messageDelayed, n) }, "call %d leases the message and commits", i)
		}
		if m.loses {
			add(false, func(s *state) string { return m.end(s, i, messageThere, m.proxies) }, "the session of call %d is lost", i)
		}
	}
}

// end ends the transaction of a call, which a proxy notices or nobody.
func (m *machine) end(s *state, call int, as messageState, noticed int) string {
	i := s.calls[call].message - 1
	s.messages[i], s.holders[i] = as, 0
	s.calls[call] = callState{}
	return m.ended(s, noticed, m.line[call])
}

// first is the first message that a call may get; less than 0: none.
func (m *machine) first(s *state, call int) int {
	for i := range m.messages {
		if m.of[i] == m.line[call] && m.wanted(call, i) && s.messages[i] == messageThere && s.holders[i] == 0 {
			return i
		}
	}
	return -1
}
