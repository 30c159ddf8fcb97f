package httplisten

import (
	"context"
	"crypto/tls"
	"io"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"
)

// Places bounds how many connections there are. When all places are taken, the connection goes that
// has been there for longest without a whole request under way: so nobody who says nothing, says it
// slowly, or does not read what was asked for, keeps others out, among them who asks whether the
// proxy lives. The next waits where all have one, or a request may still be on its way.
type Places struct {
	net.Listener
	most int
	// grace is how long a connection may be without a whole request before it makes room.
	grace time.Duration

	mu     sync.Mutex
	free   sync.Cond
	taken  []*placed // in the order in which they came
	closed bool
}

const placeGrace = time.Second

// NewPlaces returns a listener on l with so many places. Its server has WithPlace and KeepPlaces.
func NewPlaces(l net.Listener, most int) *Places {
	p := &Places{Listener: l, most: most, grace: placeGrace}
	p.free.L = &p.mu
	return p
}

// placed is a connection with a place.
type placed struct {
	net.Conn
	of   *Places
	busy bool      // a request is under way
	idle time.Time // since when none is
}

// Accept gives the next connection, with a place.
func (p *Places) Accept() (net.Conn, error) {
	c, err := p.Listener.Accept()
	if err != nil {
		return nil, err
	}
	one := &placed{Conn: c, of: p, idle: time.Now()}
	p.mu.Lock()
	defer p.mu.Unlock()
	for len(p.taken) >= p.most && !p.closed && !p.makeRoom() {
		again := time.AfterFunc(p.grace/4, p.free.Broadcast)
		p.free.Wait()
		again.Stop()
	}
	if p.closed {
		_ = c.Close()
		return nil, net.ErrClosed
	}
	p.taken = append(p.taken, one)
	return one, nil
}

// makeRoom ends the first connection without a request. mu is held.
func (p *Places) makeRoom() bool {
	i := slices.IndexFunc(p.taken, func(c *placed) bool { return !c.busy && time.Since(c.idle) >= p.grace })
	if i < 0 {
		return false
	}
	_ = p.taken[i].Conn.Close() // whoever uses it gets an error, and closes it again
	p.taken[i].leave()
	return true
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

// leave gives the place back, where the connection has one still. The listener's mu is held.
func (c *placed) leave() {
	if i := slices.Index(c.of.taken, c); i >= 0 {
		c.of.taken = slices.Delete(c.of.taken, i, i+1)
		c.of.free.Signal()
	}
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
	if c.busy = is; !is {
		c.idle = time.Now()
		c.of.free.Signal()
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
