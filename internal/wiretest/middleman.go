package wiretest

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"sync"
	"sync/atomic"
	"time"
)

// Action is what a middleman does at a place in a connection.
type Action int

// The actions.
const (
	Nothing Action = iota
	Finish         // ends the connection to both peers in the polite way
	Reset          // breaks it
	Stall          // stops the direction for a while
)

func (a Action) String() string { return [...]string{"nothing", "finish", "reset", "stall"}[a] }

// Plan is how a middleman disturbs a connection. The zero value disturbs nothing.
type Plan struct {
	Action Action
	// Connection, Direction and Frame say where, each counted from 0: behind that frame, or in its middle.
	// Frame -1 is before the first.
	Connection int
	Direction  Direction
	Frame      int
	Middle     bool
	// Split, when it is above 0, is how many bytes of the direction go before a pause.
	Split int
	// For is how long a stall and a pause take.
	For time.Duration
	// Trickle sends single bytes.
	Trickle bool
}

func (p Plan) String() string {
	switch {
	case p.Trickle:
		return "trickle"
	case p.Split > 0:
		return fmt.Sprintf("split %s of connection %d behind byte %d", p.Direction, p.Connection, p.Split)
	case p.Action == Nothing:
		return "nothing"
	}
	place := "behind"
	if p.Middle {
		place = "in"
	}
	return fmt.Sprintf("%s %s frame %d %s of connection %d", p.Action, place, p.Frame, p.Direction, p.Connection)
}

// Middleman passes connections on to a target and disturbs them.
type Middleman struct {
	target   string
	listener net.Listener
	work     sync.WaitGroup
	done     chan struct{} // closed by Close
	cut      chan struct{} // closed by Cut, which makes a new one

	mu       sync.Mutex
	plan     Plan
	passages []*passage // since Use
	open     map[net.Conn]struct{}
	dropped  chan struct{} // closed and replaced when a connection goes from open
	closed   bool
}

// NewMiddleman listens on a free port of the loopback for connections to target, a TCP address.
func NewMiddleman(target string) (*Middleman, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	m := &Middleman{target: target, listener: l, done: make(chan struct{}), cut: make(chan struct{}), dropped: make(chan struct{}), open: map[net.Conn]struct{}{}}
	m.work.Go(m.accept)
	return m, nil
}

// Addr is where the middleman listens.
func (m *Middleman) Addr() *net.TCPAddr { return m.listener.Addr().(*net.TCPAddr) }

// Use takes a plan for the connections to come and counts them anew.
func (m *Middleman) Use(p Plan) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.plan, m.passages = p, nil
}

// Seen returns, by connection since Use, how many whole frames and how many bytes came in each direction.
func (m *Middleman) Seen() (frames, bytes [][2]int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, p := range m.passages {
		frames = append(frames, [2]int{int(p.seen[0].Load()), int(p.seen[1].Load())})
		bytes = append(bytes, [2]int{int(p.bytes[0].Load()), int(p.bytes[1].Load())})
	}
	return frames, bytes
}

// Struck reports whether the place of the plan was reached since Use.
func (m *Middleman) Struck() bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, p := range m.passages {
		if p.struck.Load() {
			return true
		}
	}
	return false
}

// Open is how many connections there are, two for each that passes.
func (m *Middleman) Open() int {
	m.mu.Lock()
	defer m.mu.Unlock()
	return len(m.open)
}

// AwaitEmpty waits until no connection is open; false means that ctx has ended before.
func (m *Middleman) AwaitEmpty(ctx context.Context) bool {
	for {
		m.mu.Lock()
		n, dropped := len(m.open), m.dropped
		m.mu.Unlock()
		if n == 0 {
			return true
		}
		select {
		case <-dropped:
		case <-ctx.Done():
			return false
		}
	}
}

// Cut resets all connections there are and then ends the stalls in them: nothing that was held back arrives.
func (m *Middleman) Cut() {
	m.mu.Lock()
	defer m.mu.Unlock()
	for c := range m.open {
		_ = c.(*net.TCPConn).SetLinger(0)
		_ = c.Close()
	}
	close(m.cut)
	m.cut = make(chan struct{})
}

// Close stops listening, closes all connections and waits until they have ended.
func (m *Middleman) Close() {
	_ = m.listener.Close()
	close(m.done)
	m.mu.Lock()
	m.closed = true
	for c := range m.open {
		_ = c.Close()
	}
	m.mu.Unlock()
	m.work.Wait()
}

func (m *Middleman) accept() {
	for {
		c, err := m.listener.Accept()
		if err != nil {
			return
		}
		m.work.Go(func() { m.pass(c.(*net.TCPConn)) })
	}
}

// keep notes a connection; false means that the middleman is closing.
func (m *Middleman) keep(c net.Conn) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.closed {
		_ = c.Close()
		return false
	}
	m.open[c] = struct{}{}
	return true
}

func (m *Middleman) drop(c net.Conn) {
	_ = c.Close()
	m.mu.Lock()
	delete(m.open, c)
	close(m.dropped)
	m.dropped = make(chan struct{})
	m.mu.Unlock()
}

// passage is one connection from a client and the one to the target that belongs to it.
type passage struct {
	m      *Middleman
	plan   Plan
	frames *framing
	ends   [2]*net.TCPConn // by the direction that is read from them
	seen   [2]atomic.Int64 // whole frames of each direction
	bytes  [2]atomic.Int64
	struck atomic.Bool
	over   sync.Once
	ending atomic.Bool // as Finish does
}

func (m *Middleman) pass(client *net.TCPConn) {
	if !m.keep(client) {
		return
	}
	defer m.drop(client)
	m.mu.Lock()
	p := &passage{m: m, plan: m.plan, frames: newFraming()}
	number := len(m.passages)
	m.passages = append(m.passages, p)
	m.mu.Unlock()
	if p.plan.Connection != number {
		p.plan.Action, p.plan.Split = Nothing, 0
	}
	dialed, err := net.Dial("tcp", m.target)
	if err != nil {
		return
	}
	if !m.keep(dialed) {
		return
	}
	defer m.drop(dialed)
	p.ends = [2]*net.TCPConn{client, dialed.(*net.TCPConn)}
	var back sync.WaitGroup
	back.Go(func() { p.pump(Back) })
	p.pump(Forward)
	back.Wait()
}

// errStruck ends a pump.
var errStruck = errors.New("connection was cut as planned")

// pump moves one direction until it ends, and then what ends with it.
func (p *passage) pump(d Direction) {
	from, to := p.ends[d], p.ends[1-d]
	err := p.place(d, -1, false)
	buf := make([]byte, 32<<10)
	for err == nil {
		var n int
		n, err = from.Read(buf)
		if werr := p.frame(d, to, buf[:n]); werr != nil {
			err = werr
		}
	}
	switch {
	case p.ending.Load():
		_, _ = io.Copy(io.Discard, from) // until the peer closes as well
	case errors.Is(err, io.EOF):
		_ = to.CloseWrite()
	default:
		_ = from.SetLinger(0) // a reset on one side is one on the other
		_ = to.SetLinger(0)
		_ = from.Close()
		_ = to.Close()
	}
}

// frame passes b on, frame by frame.
func (p *passage) frame(d Direction, to net.Conn, b []byte) error {
	for len(b) > 0 {
		n, size, whole := p.frames.next(d, b)
		at := int(p.seen[d].Load())
		if err := p.middle(d, to, b[:n], at, size, whole); err != nil {
			return err
		}
		b = b[n:]
		if !whole {
			continue
		}
		p.seen[d].Add(1)
		if err := p.place(d, at, false); err != nil {
			return err
		}
	}
	return nil
}

// middle passes on a part of the frame with the number at, stopping where the plan says.
func (p *passage) middle(d Direction, to net.Conn, b []byte, at, size int, whole bool) error {
	here := p.plan.Middle && p.plan.Action != Nothing && p.plan.Direction == d && p.plan.Frame == at
	if !here || len(b) < 2 || !whole {
		return p.write(d, to, b)
	}
	if err := p.write(d, to, b[:len(b)/2]); err != nil {
		return err
	}
	if err := p.place(d, at, true); err != nil {
		return err
	}
	return p.write(d, to, b[len(b)/2:])
}

// write passes bytes on in the pieces of the plan.
func (p *passage) write(d Direction, to net.Conn, b []byte) error {
	sent := int(p.bytes[d].Add(int64(len(b)))) - len(b)
	if cut := p.plan.Split - sent; p.plan.Direction == d && cut > 0 && cut < len(b) {
		if _, err := to.Write(b[:cut]); err != nil {
			return err
		}
		p.struck.Store(true)
		p.pause()
		b = b[cut:]
	}
	for p.plan.Trickle && len(b) > 1 {
		if _, err := to.Write(b[:1]); err != nil {
			return err
		}
		p.pause()
		b = b[1:]
	}
	_, err := to.Write(b)
	return err
}

// pause waits as long as the plan says, or until the middleman closes.
func (p *passage) pause() {
	if p.plan.For == 0 {
		return
	}
	p.m.mu.Lock()
	cut := p.m.cut
	p.m.mu.Unlock()
	select {
	case <-time.After(p.plan.For):
	case <-cut:
	case <-p.m.done:
	}
}

// place does what is planned behind the frame with the number at, or in its middle.
func (p *passage) place(d Direction, at int, middle bool) error {
	if p.plan.Direction != d || p.plan.Frame != at || p.plan.Middle != middle {
		return nil
	}
	switch p.plan.Action {
	case Stall:
		p.struck.Store(true)
		p.pause()
	case Finish, Reset:
		p.struck.Store(true)
		p.over.Do(func() {
			p.ending.Store(p.plan.Action == Finish)
			for _, c := range p.ends {
				if p.plan.Action == Finish {
					_ = c.CloseWrite()
					continue
				}
				_ = c.SetLinger(0)
				_ = c.Close()
			}
		})
		return errStruck
	}
	return nil
}
