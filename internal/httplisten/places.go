package httplisten

import (
	"container/list"
	"context"
	"crypto/tls"
	"io"
	"net"
	"net/http"
	"net/netip"
	"strings"
	"sync"
	"syscall"
	"time"

	"mbusproxy/internal/socket"
	"mbusproxy/proxy/origin"
)

// Places bounds how many connections there are. It takes every connection at once: when all places are
// taken, one goes that has no whole request under way, of the address that has most of these one that has hung up, or
// the one that has been so for longest. So nobody who says nothing, says it slowly, or does not read what was
// asked for, keeps others out, among them who asks whether the proxy lives. Each has a moment to say
// what it wants, so that a flood does not end a connection whose request has only just come. The next one
// waits for that, or where all have a request under way, of which the handlers take fewer than there are places.
type Places struct {
	net.Listener
	most   int
	moment time.Duration

	mu     sync.Mutex
	free   sync.Cond
	taken  int
	idle   map[netip.Prefix]*list.List // of *placed without a whole request by origin, the longest first; none is empty
	closed bool
}

// aMoment is what a connection has at least. With so few, all places of a listener with 512 are free again for
// ten thousand connections a second.
const aMoment = 50 * time.Millisecond

// NewPlaces returns a listener on l with so many places. Its server has WithPlace and KeepPlaces.
func NewPlaces(l net.Listener, most int) *Places {
	p := &Places{Listener: l, most: most, moment: aMoment, idle: map[netip.Prefix]*list.List{}}
	p.free.L = &p.mu
	return p
}

// placed is a connection with a place. What follows of is guarded by its mu.
type placed struct {
	net.Conn
	of     *Places
	origin netip.Prefix
	since  time.Time     // when it came into of.idle
	left   bool          // the place is another's
	at     *list.Element // in of.idle; nil: a request is under way, or it has left
}

// mostLooked is how many connections are looked at, to find one that has hung up.
const mostLooked = 32

// hungUp reports whether the client has, although nobody has come to read that.
func (c *placed) hungUp() bool {
	s, ok := c.Conn.(syscall.Conn)
	if !ok {
		return false
	}
	raw, err := s.SyscallConn()
	return err != nil || socket.ConnHungUp(raw)
}

// Accept gives the next connection, with a place.
func (p *Places) Accept() (net.Conn, error) {
	c, err := p.Listener.Accept()
	if err != nil {
		return nil, err
	}
	one := &placed{Conn: c, of: p}
	if a, is := c.RemoteAddr().(*net.TCPAddr); is {
		one.origin = origin.Of(a.AddrPort().Addr())
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	for p.taken >= p.most && !p.closed && !p.makeRoom() {
		p.free.Wait()
	}
	if p.closed {
		_ = c.Close()
		return nil, net.ErrClosed
	}
	p.taken++
	one.rest()
	return one, nil
}

// makeRoom ends a connection without a request, or wakes whoever waits when there will be one to end. mu is held, as where rest, work, end and leave are called.
func (p *Places) makeRoom() bool {
	var crowd *list.List
	for _, l := range p.idle {
		if crowd == nil || l.Len() > crowd.Len() {
			crowd = l
		}
	}
	if crowd == nil {
		return false
	}
	old := firstHungUp(crowd)
	if old != nil {
		old.end()
		return true
	}
	old = crowd.Front().Value.(*placed)
	if left := p.moment - time.Since(old.since); left > 0 {
		time.AfterFunc(left, func() {
			p.mu.Lock() // until whoever is about to wait does
			defer p.mu.Unlock()
			p.free.Broadcast()
		})
		return false
	}
	old.end()
	return true
}

// firstHungUp returns the first of those in the list that has hung up, of a bounded number; nil: none has.
func firstHungUp(in *list.List) *placed {
	for at, looked := in.Front(), 0; at != nil && looked < mostLooked; at, looked = at.Next(), looked+1 {
		if c := at.Value.(*placed); c.hungUp() {
			return c
		}
	}
	return nil
}

// Close ends the listener.
func (p *Places) Close() error {
	err := p.Listener.Close()
	p.mu.Lock()
	defer p.mu.Unlock()
	p.closed = true
	p.free.Broadcast()
	return err
}

// rest notes that no request is under way.
func (c *placed) rest() {
	if c.left || c.at != nil {
		return
	}
	l := c.of.idle[c.origin]
	if l == nil {
		l = list.New()
		c.of.idle[c.origin] = l
	}
	c.at, c.since = l.PushBack(c), time.Now()
	c.of.free.Signal()
}

// work notes that one is.
func (c *placed) work() {
	if c.at == nil {
		return
	}
	l := c.of.idle[c.origin]
	if l.Remove(c.at); l.Len() == 0 {
		delete(c.of.idle, c.origin)
	}
	c.at = nil
}

// end closes the connection for another. Whoever uses it gets an error, and closes it again.
func (c *placed) end() {
	_ = c.Conn.Close()
	c.leave()
}

// leave gives the place back, where the connection has one still.
func (c *placed) leave() {
	if c.left {
		return
	}
	c.work()
	c.left = true
	c.of.taken--
	c.of.free.Signal()
}

// Close ends the connection.
func (c *placed) Close() error {
	c.of.mu.Lock()
	c.leave()
	c.of.mu.Unlock()
	return c.Conn.Close()
}

func (c *placed) setBusy(is bool) {
	c.of.mu.Lock()
	defer c.of.mu.Unlock()
	if is {
		c.work()
	} else {
		c.rest()
	}
}

// placeKey is the key of a request's connection in its context.
type placeKey struct{}

// WithPlace is the ConnContext of a server that listens on a Places.
func WithPlace(ctx context.Context, c net.Conn) context.Context {
	for {
		switch o := c.(type) {
		case *tls.Conn:
			c = o.NetConn()
		case *peeked:
			c = o.Conn
		case *placed:
			return context.WithValue(ctx, placeKey{}, o)
		default:
			return ctx
		}
	}
}

// KeepPlaces has a connection keep its place from a whole request on until the answer to it is
// there: who does not read it has no more claim than who says nothing. A stream of events keeps it,
// for of these there are few.
func KeepPlaces(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		c, is := r.Context().Value(placeKey{}).(*placed)
		if !is {
			next.ServeHTTP(w, r)
			return
		}
		defer c.setBusy(false)
		w = &placedWriter{w, c}
		if r.Body == nil || r.Body == http.NoBody {
			c.setBusy(true)
		} else {
			r.Body = &placedBody{r.Body, c}
		}
		next.ServeHTTP(w, r)
	})
}

// placedWriter is an answer, of which a browser may read a part only.
type placedWriter struct {
	http.ResponseWriter
	conn *placed
}

// Unwrap is for http.ResponseController.
func (w *placedWriter) Unwrap() http.ResponseWriter { return w.ResponseWriter }

// Write writes, and notes the beginning.
func (w *placedWriter) Write(b []byte) (int, error) {
	if w.conn != nil && !strings.HasPrefix(w.Header().Get("Content-Type"), "text/event-stream") {
		w.conn.setBusy(false)
		w.conn = nil
	}
	return w.ResponseWriter.Write(b)
}

// placedBody is the body of a request, of which a browser may have sent a part only.
type placedBody struct {
	io.ReadCloser
	conn *placed
}

// Read reads, and notes the end.
func (b *placedBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	if err == io.EOF {
		b.conn.setBusy(true)
	}
	return n, err
}
