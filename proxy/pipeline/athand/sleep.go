package athand

import "errors"

// ErrDraining is why a wait ends when the session is to end as soon as nothing is outstanding.
var ErrDraining = errors.New("the session is to end")

// ErrLeft is why a wait ends when the client has said that it leaves, or has ended its sending.
var ErrLeft = errors.New("the client has left")

// Sleep is called when a statement is to wait for its turn; wake is called when there is something
// to see to, perhaps before Sleep returns.
func (m *Message) Sleep(wake func()) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.asleep, m.awake, m.ended, m.wake = true, false, nil, wake
	switch {
	case m.canceled != nil:
		m.end(ErrCanceled)
	case m.left:
		m.end(ErrLeft)
	case m.draining:
		m.end(ErrDraining)
	}
	m.startLooking()
}

// end ends the wait of the statement that is asleep from outside. m.mu is held.
func (m *Message) end(why error) {
	if m.ended == nil {
		m.ended = why
	}
	m.rouseLocked()
}

// Rouse wakes the statement that is asleep.
func (m *Message) Rouse() {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.asleep {
		m.rouseLocked()
	}
}

func (m *Message) rouseLocked() {
	if !m.awake {
		m.awake = true
		m.wake()
	}
}

// IsAwake reports whether there is something to see to.
func (m *Message) IsAwake() bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.awake
}

// Why is why the wait was ended from outside; nil: it was not.
func (m *Message) Why() error {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.ended
}

// EndSleep is called when the statement has been seen to, and returns why.
func (m *Message) EndSleep() (ended error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.stopLooking()
	m.asleep, m.wake = false, nil
	return m.ended
}

// Gone reports whether the client of the statement that waits is gone.
func (m *Message) Gone() bool { return m.gone != nil && m.gone() }

// Look ends the session, where Gone is true.
func (m *Message) Look() { m.look() }

// Asleep reports whether a statement waits for its turn. It may be called from anywhere.
func (m *Message) Asleep() bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.asleep
}

// EndSleeps ends the wait of the statement that waits with ErrDraining, and that of every later
// one. It may be called from anywhere.
func (m *Message) EndSleeps() {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.draining = true; m.asleep {
		m.end(ErrDraining)
	}
}

// Leave ends the wait of the statement that waits with ErrLeft, and that of every later one.
func (m *Message) Leave() {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.left = true; m.asleep {
		m.end(ErrLeft)
	}
}

// HasLeft reports whether Leave has been called.
func (m *Message) HasLeft() bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.left
}
