package waiting

import "slices"

// watcher has the steps of a Watcher.
func (m *machine) watcher(from *state, n int, add adding) {
	p := from.proxies[n]
	if p.down {
		return
	}
	if p.ended != 0 {
		m.note(from, n, add)
	}
	if p.notified != 0 {
		add(true, func(s *state) string {
			to := &s.proxies[n]
			if to.phase != watcherClosed {
				to.told |= to.notified
			}
			to.notified = 0
			return ""
		}, "proxy %d is notified", n)
	}
	if m.fails && p.phase != watcherClosed {
		add(false, func(s *state) string {
			return m.with(s, n, func(l *Lines, _ *[mostCalls]*Place) { l.wakeAll() }, func() { s.proxies[n].close() })
		}, "the session of watcher %d fails", n)
	}
	switch p.phase {
	case watcherClosed:
		if p.rung {
			add(true, func(s *state) string {
				to := &s.proxies[n]
				if to.rung = false; m.waiting(s, n) > 0 {
					to.phase, to.told, to.moved, to.rung = watcherListens, inAny, m.sweeps, true
				}
				return ""
			}, "watcher %d begins where somebody waits", n)
		}
	case watcherListens:
		l, _, _ := m.open(from, n)
		_, _, delayEnds := l.pending()
		due := !delayEnds.IsZero() && !instant(from.clock).Before(delayEnds)
		if p.rung || p.told != 0 || due {
			add(true, func(s *state) string { return m.ask(s, n, p.told, p.told == inAny) }, "watcher %d turns", n)
		}
		if m.sweeps {
			add(true, func(s *state) string {
				to := &s.proxies[n]
				to.phase, to.all = watcherSwept, to.told == inAny || to.moved
				to.moved, to.rung = false, false
				wrong := m.with(s, n, func(l *Lines, _ *[mostCalls]*Place) { l.sweep() }, func() {})
				if wrong == "" && !m.splits {
					wrong = m.ask(s, n, to.told, to.all)
				}
				return wrong
			}, sweeps, n)
		}
		if m.closes && m.waiting(from, n) == 0 && !p.rung {
			add(false, func(s *state) string { s.proxies[n].close(); return "" }, "watcher %d closes", n)
		}
	case watcherSwept:
		add(true, func(s *state) string { return m.ask(s, n, s.proxies[n].told, s.proxies[n].all) }, "watcher %d asks after its sweep", n)
	case watcherAsked:
		add(true, func(s *state) string { m.look(s, n, false); return "" }, "watcher %d looks", n)
		if slices.ContainsFunc(from.holders[:m.messages], func(holder uint8) bool { return holder != 0 }) {
			add(true, func(s *state) string { m.look(s, n, true); return "" }, "watcher %d looks and counts what is held", n)
		}
	case watcherLooked:
		add(true, func(s *state) string { return m.tell(s, n) }, "watcher %d tells", n)
	}
}

// close ends a session, which forgets what it knew.
func (p *proxyState) close() {
	p.phase, p.told, p.moved, p.all = watcherClosed, 0, false, false
	p.asked, p.ready, p.next = [mostLines]uint8{}, [mostLines]uint8{}, [mostLines]uint8{}
	p.notified, p.rung = 0, true
}

// waiting is Lines.Waiting.
func (m *machine) waiting(s *state, n int) (count int) {
	for i := range m.calls {
		if c := &s.calls[i]; m.proxy[i] == n && c.phase == waitIdle && !c.woken {
			count++
		}
	}
	return count
}

// note is Watcher.Note, and what becomes of telling the others.
func (m *machine) note(from *state, n int, add adding) {
	queues := from.proxies[n].ended
	signal := func(s *state) string {
		return m.with(s, n, func(l *Lines, _ *[mostCalls]*Place) { l.Signal(queues.queues(), !m.quiet) }, func() { s.proxies[n].ended = 0 })
	}
	other := -1
	for o := range m.proxies {
		if o != n && !from.proxies[o].down && from.proxies[o].phase != watcherClosed {
			other = o
		}
	}
	if other < 0 {
		add(true, signal, "proxy %d notes the end of a transaction", n)
		return
	}
	add(true, func(s *state) string {
		s.proxies[other].notified |= queues
		return signal(s)
	}, "proxy %d notes the end of a transaction and notifies", n)
	if m.lossy {
		add(true, signal, "proxy %d notes the end of a transaction and the notification is lost", n)
	}
}

// ask is Watcher.turn up to its query.
func (m *machine) ask(s *state, n int, told inQueues, all bool) string {
	p := &s.proxies[n]
	p.rung, p.told = false, 0
	p.all = false
	var asked []wanted
	wrong := m.with(s, n, func(l *Lines, places *[mostCalls]*Place) {
		if !all {
			l.told(told.queues())
			l.due(instant(s.clock))
		}
		version := l.version
		fresh := map[*line]bool{}
		for _, of := range l.lines {
			fresh[of] = of.fresh
		}
		asked = l.ask(all)
		for _, p := range places {
			if m.mutation == asksQuietly && p != nil && p.version == version {
				p.version = l.version
			}
		}
		if m.mutation == asksLoudly && !all {
			l.version++
		}
		for _, of := range l.lines {
			if m.mutation == forgetsUnasked && len(of.idle) == 0 {
				of.fresh = fresh[of]
			}
		}
	}, func() {})
	p.asked, p.phase = [mostLines]uint8{}, watcherListens
	for _, a := range asked {
		p.asked[a.key.Queue[0]-'a'] = uint8(a.n)
		p.phase = watcherAsked
	}
	m.goOn(s, n)
	return wrong
}

// goOn has the next turn follow where something is pending.
func (m *machine) goOn(s *state, n int) {
	if p := &s.proxies[n]; p.phase == watcherListens {
		l, _, _ := m.open(s, n)
		p.rung = p.rung || pending(l)
	}
}

// look is its query. Of what a transaction holds it knows mostly that it does; held says that it does not know.
func (m *machine) look(s *state, n int, held bool) {
	p := &s.proxies[n]
	p.phase, p.next, p.ready = watcherLooked, [mostLines]uint8{}, [mostLines]uint8{}
	for i := m.messages - 1; i >= 0; i-- {
		line := m.of[i]
		if p.asked[line] == 0 {
			continue
		}
		switch s.messages[i] {
		case messageThere:
			if s.holders[i] == 0 || held {
				p.ready[line] = min(p.ready[line]+1, p.asked[line])
			}
		case messageDelayed:
			p.next[line] = uint8(i + 1)
		}
	}
}

// tell is what follows its query.
func (m *machine) tell(s *state, n int) string {
	p := &s.proxies[n]
	asked, ready, next := p.asked, p.ready, p.next
	if m.mutation == forgetsDelay {
		next = [mostLines]uint8{}
	}
	p.next, p.ready = [mostLines]uint8{}, [mostLines]uint8{}
	wrong := m.with(s, n, func(l *Lines, _ *[mostCalls]*Place) {
		for i, many := range asked {
			of := l.lines[keyOf(i, m.selective)]
			if many == 0 || of == nil {
				continue
			}
			if m.mutation == wakesLast {
				slices.Reverse(of.idle)
			}
			changed := l.changed
			l.tell(keyOf(i, m.selective), found{ready: int(ready[i]), delayEnds: instant(next[i])})
			of.again = of.again && m.mutation != forgetsAgain
			if m.mutation == forgetsServed {
				l.changed = changed
			}
		}
	}, func() { p.phase, p.asked = watcherListens, [mostLines]uint8{} })
	m.goOn(s, n)
	return wrong
}
