package relay

import (
	"syscall"
	"time"
)

// Nearly all that a loop does is quick, however much it reads at a time. But a buffer full of short messages, each of
// which is looked at or has its text replaced, takes milliseconds, and a client that does not wait for replies always has
// one more. Beside a few such clients the bytes of all others would wait for a buffer of each of them. So a connection
// whose bytes take long is busy: less of it is read at a time, and between two waits of its loop only one busy
// connection has a turn, the one whose last turn is the longest ago.
const (
	// turnTime is how long the handling of one read of a busy connection is to take.
	turnTime = 500 * time.Microsecond
	// leastRead is how many bytes a read may take of any connection.
	leastRead = 4 << 10
)

// pace is how fast the bytes of a connection are read.
type pace struct {
	// most is how many bytes a read may take while the connection is busy; 0: it is not busy.
	most int
	// turn is the value of loop.turns at its last turn.
	turn uint64
}

func (p *pace) busy() bool { return p.most > 0 }

// part is what a read may fill of the loop's buffer.
func (p *pace) part(buf []byte) []byte {
	if p.busy() {
		return buf[:p.most]
	}
	return buf
}

// start returns the time at which the handling of n bytes begins; zero: it is not measured, for n is small.
func (p *pace) start(n int) time.Time {
	if n < leastRead {
		return time.Time{}
	}
	return time.Now()
}

// end is called when the handling of n bytes has ended.
func (p *pace) end(n int, began time.Time) {
	if began.IsZero() {
		p.most += p.most / 8
		p.limit()
		return
	}
	p.took(n, time.Since(began))
}

// took makes the reads shorter if the handling of n bytes took too long, and longer again if it was quick.
func (p *pace) took(n int, d time.Duration) {
	switch {
	case d > turnTime:
		p.most = max(leastRead, int(int64(n)*int64(turnTime)/int64(d)))
	case d < turnTime/4 && n >= p.most:
		p.most *= 2
	}
	p.limit()
}

// limit ends that the connection is busy where it may fill the buffer.
func (p *pace) limit() {
	if p.most >= loopBuffer {
		p.most = 0
	}
}

// slow makes the connection busy: what it sends takes the time of others, though not the loop's.
func (p *pace) slow() { p.most = leastRead }

// choose returns the busy connection that has the next turn, of those with events and those to be read again; nil: none
// of them is busy.
func (l *loop) choose(events []syscall.EpollEvent) (chosen *loopedEnd) {
	consider := func(e *loopedEnd) {
		if e != nil && e.busy() && (chosen == nil || e.turn < chosen.turn) {
			chosen = e
		}
	}
	for i := range events {
		if fd := int(events[i].Fd); fd != l.wake {
			consider(l.byFD[fd])
		}
	}
	for _, e := range l.again {
		consider(e)
	}
	if chosen != nil {
		l.turns++
		chosen.turn = l.turns
	}
	return chosen
}
