package startup

import "runtime"

// Turns are what startups take turns at: so many at a time use a processor, so that the others are there for sessions
// however many connections come. Who reads from a client gives its turn back meanwhile.
type Turns chan struct{}

// NewTurns gives startups half of the processors.
func NewTurns() Turns { return make(Turns, max(1, runtime.GOMAXPROCS(0)/2)) }

// Pass returns when those who have waited for a turn before have had it.
func (t Turns) Pass() {
	t <- struct{}{}
	<-t
}

// TakeTurn waits for a turn. What is done in it may take time, but must wait for nothing, except in Read.
func (s *Client) TakeTurn() {
	s.turns <- struct{}{}
	s.inTurn = true
}

// EndTurn gives the turn back; without one it does nothing.
func (s *Client) EndTurn() {
	if s.inTurn {
		s.inTurn = false
		<-s.turns
	}
}
