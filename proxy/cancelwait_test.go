package proxy

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgproto3"

	"mbusproxy/proxy/internal/proxytest"
	"mbusproxy/proxy/statements"
	"mbusproxy/proxy/wire"
)

// waitingRewriter has statements with mbus4 wait until the test ends their waits. It stops at one
// place of their way, which the test names.
type waitingRewriter struct {
	proxytest.Stepping
	place            string
	entered, proceed chan struct{}
	slept            chan func() // gets what wakes a statement
	runs             chan bool   // gets what Leave was told
	mu               sync.Mutex
	over             bool // waits that are woken are over
}

func newWaiting(place string) *waitingRewriter {
	return &waitingRewriter{place: place, entered: make(chan struct{}, 16), proceed: make(chan struct{}), slept: make(chan func(), 16), runs: make(chan bool, 16)}
}

func (r *waitingRewriter) Mentions(text []byte) bool { return strings.Contains(string(text), "mbus4") }

func (r *waitingRewriter) at(place string) {
	if r.place == place {
		r.entered <- struct{}{}
		<-r.proceed
	}
}

func (r *waitingRewriter) Rewrite(_ context.Context, _ statements.Context, text string) statements.Plan {
	r.at("rewrite")
	return waitingPlan{&proxytest.SteppingPlan{Rewriter: &r.Stepping, Name: "plan", Text: text}, r}
}

// end ends the wait of the statement that wake wakes.
func (r *waitingRewriter) end(wake func()) {
	r.mu.Lock()
	r.over = true
	r.mu.Unlock()
	wake()
}

type waitingPlan struct {
	*proxytest.SteppingPlan
	r *waitingRewriter
}

func (waitingPlan) BindTime() bool { return true }

func (waitingPlan) Prelude(context.Context, statements.Context, wire.Values) statements.Plan {
	return nil
}

func (p waitingPlan) Waits() bool {
	p.r.at("waits")
	return true
}

func (p waitingPlan) Wait(context.Context, statements.Context, wire.Values) (statements.Wait, statements.Plan) {
	p.r.at("wait")
	return p, nil
}

func (p waitingPlan) Probe() statements.Plan {
	p.r.at("probe")
	return &proxytest.SteppingPlan{Rewriter: p.Rewriter, Name: "probe", Text: "select ''"}
}

func (waitingPlan) Prepares() bool { return false }

func (p waitingPlan) Answered(string, bool) (run bool, refused statements.Plan) {
	p.r.at("answered")
	return false, nil
}

func (p waitingPlan) Sleep(wake func()) {
	p.r.at("sleep")
	p.r.slept <- wake
}

func (p waitingPlan) Awake() (over bool, refused statements.Plan) {
	p.r.mu.Lock()
	defer p.r.mu.Unlock()
	return p.r.over, nil
}

func (waitingPlan) Stand(time.Duration) bool { return false }
func (waitingPlan) Room() time.Duration      { return 0 }

func (p waitingPlan) Statement() statements.Plan {
	p.r.at("statement")
	return p
}

func (p waitingPlan) Leave(run bool) { p.r.runs <- run }

const (
	waitText  = "select 'reached' /*mbus4*/"
	waitEnded = "ErrorResponse ERROR 57014 \"canceling statement due to user request\"\n"
)

// waitForms are a statement that waits, in each protocol, with what the client gets where it is cancelled.
var waitForms = map[string]struct {
	send []pgproto3.FrontendMessage
	want string
}{
	"simple":   {proxytest.Messages(proxytest.Query(waitText)), waitEnded + idle},
	"extended": {proxytest.Messages(proxytest.Parse("", waitText), proxytest.Bind("", ""), proxytest.Execute(""), proxytest.Sync()), parsed + waitEnded + idle},
}

// TestCancelOnTheWay: a cancel request ends a statement that waits wherever on its way it is, and
// nothing that the client sends later.
func TestCancelOnTheWay(t *testing.T) {
	eachWay(t, func(t *testing.T, way how) {
		for name, form := range waitForms {
			for _, place := range []string{"rewrite", "waits", "wait", "statement", "probe", "answered", "sleep"} {
				if name == "extended" && (place == "rewrite" || place == "statement") {
					continue // which is at the Parse, or comes for a Query
				}
				t.Run(name+", "+place, func(t *testing.T) {
					r := newWaiting(place)
					p := start(t, way, func(c *Config) { c.Rewriter = r })
					w := login(t, p.addr)
					w.send(form.send...)
					proxytest.Received(t, r.entered)
					before := p.counts.cancels.Load()
					sent := make(chan error, 1)
					go func() { sent <- sendCancel(p.addr, cancelOf(w)) }()
					proxytest.Eventually(t, "the proxy has the cancel request", func() bool { return p.counts.cancels.Load() > before })
					close(r.proceed)
					if got := w.until('Z') + "\n"; got != form.want {
						t.Errorf("got\n%swant\n%s", got, form.want)
					}
					if err := proxytest.Received(t, sent); err != nil {
						t.Error(err)
					}
					wantNextWaits(t, w, r)
				})
			}
		}
	})
}

// wantNextWaits has the session's next statement wait, and run when its wait is over.
func wantNextWaits(t *testing.T, w *wireClient, r *waitingRewriter) {
	t.Helper()
	for len(r.slept) > 0 {
		proxytest.Received(t, r.slept)
	}
	w.send(waitForms["simple"].send...)
	r.end(proxytest.Received(t, r.slept))
	if got := w.until('Z'); !strings.Contains(got, "reached") {
		t.Error(got)
	}
}

// heldCancels is a server of which the CancelRequests wait until they are let go.
type heldCancels struct {
	port           int
	come, proceeds chan struct{}
	greeting       func(client, server net.Conn) error // passes on what the server says first; nil: nothing of that is held
}

func holdCancels(t *testing.T) *heldCancels {
	h := &heldCancels{come: make(chan struct{}, 16), proceeds: make(chan struct{}, 16)}
	h.port = proxytest.Pretend(t, func(c net.Conn) {
		first := make([]byte, wire.MinCancel)
		if _, err := io.ReadFull(c, first[:8]); err != nil {
			return
		}
		if wire.StartupPacket(first[:8]).Code() == wire.CodeCancel {
			h.come <- struct{}{}
			<-h.proceeds
		}
		server, err := net.Dial("tcp", shared.address())
		if err != nil {
			t.Error(err)
			return
		}
		defer server.Close()
		_, _ = server.Write(first[:8])
		go func() {
			_, _ = io.Copy(server, c)
			_ = server.(*net.TCPConn).CloseWrite()
		}()
		if h.greeting != nil && wire.StartupPacket(first[:8]).Code() != wire.CodeCancel {
			if err := h.greeting(c, server); err != nil {
				t.Error(err)
			}
		}
		_, _ = io.Copy(c, server)
	}).Port
	return h
}

// TestCancelBehindKey: a client may cancel as soon as it has its key. What it sent behind its login
// is cancelled, however late the session begins to run.
func TestCancelBehindKey(t *testing.T) {
	ready := []byte{wire.MsgReadyForQuery, 0, 0, 0, 5, 'I'}
	eachWay(t, func(t *testing.T, way how) {
		for name, form := range waitForms {
			t.Run(name, func(t *testing.T) {
				r, h := newWaiting(""), holdCancels(t)
				keyed, proceed := make(chan struct{}), make(chan struct{})
				h.greeting = func(client, server net.Conn) error {
					var greeting []byte
					for !bytes.HasSuffix(greeting, ready) {
						var some [4096]byte
						n, err := server.Read(some[:])
						if err != nil {
							return err
						}
						greeting = append(greeting, some[:n]...)
					}
					if _, err := client.Write(bytes.TrimSuffix(greeting, ready)); err != nil {
						return err
					}
					close(keyed)
					<-proceed
					_, err := client.Write(ready)
					return err
				}
				p := start(t, way, func(c *Config) {
					c.Rewriter, c.Upstream = r, fmt.Sprintf("host=127.0.0.1 port=%d sslmode=disable", h.port)
				})
				w := dialWire(t, p.addr)
				w.startup("user", "postgres", "database", "postgres")
				proxytest.Received(t, keyed)
				w.until('K')
				w.send(form.send...)
				sent := make(chan error, 1)
				go func() { sent <- sendCancel(p.addr, cancelOf(w)) }()
				proxytest.Eventually(t, "the proxy has the cancel request", func() bool { return p.counts.cancels.Load() > 0 })
				close(h.proceeds) // to the server it comes only where the statement is not at hand yet
				close(proceed)
				w.until('Z')
				if got := w.until('Z'); !strings.Contains(got, "ErrorResponse ERROR 57014") { // wherever on its way
					t.Error(got)
				}
				if err := proxytest.Received(t, sent); err != nil {
					t.Error(err)
				}
				wantNextWaits(t, w, r)
			})
		}
	})
}

// TestCancelBeforeWait: a cancel request that comes before the statement has been read, and to the
// server when that has nothing to cancel, ends the wait of the first statement behind it, and of no
// other.
func TestCancelBeforeWait(t *testing.T) {
	eachWay(t, func(t *testing.T, way how) {
		for name, form := range waitForms {
			for _, later := range []bool{false, true} {
				t.Run(fmt.Sprintf("%s, another between: %t", name, later), func(t *testing.T) {
					r, h := newWaiting(""), holdCancels(t)
					p := start(t, way, func(c *Config) {
						c.Rewriter, c.Upstream = r, fmt.Sprintf("host=127.0.0.1 port=%d sslmode=disable", h.port)
					})
					w := login(t, p.addr)
					sent := make(chan error, 1)
					go func() { sent <- sendCancel(p.addr, cancelOf(w)) }()
					proxytest.Received(t, h.come)
					if later {
						w.query("select 1")
					}
					w.send(form.send...)
					wake := proxytest.Received(t, r.slept)
					h.proceeds <- struct{}{}
					if !later {
						if got := w.until('Z') + "\n"; got != form.want {
							t.Errorf("got\n%swant\n%s", got, form.want)
						}
					}
					if err := proxytest.Received(t, sent); err != nil {
						t.Error(err)
					}
					if later {
						r.end(wake)
						if got := w.until('Z'); !strings.Contains(got, "reached") {
							t.Error(got)
						}
					}
					wantNextWaits(t, w, r)
				})
			}
		}
	})
}

// TestCancelBehindOthers: of statements sent at once the one that runs is cancelled, and not the
// wait of the one behind it.
//
// The server signals who runs a statement twice (its process, and then its group), and closes the
// connection of the cancel request after that. Between the two it may have come to what is behind
// that statement. So nothing of that is sent until the connection is closed.
func TestCancelBehindOthers(t *testing.T) {
	eachWay(t, func(t *testing.T, way how) {
		for name, form := range waitForms {
			t.Run(name, func(t *testing.T) {
				r := newWaiting("probe")
				p := start(t, way, func(c *Config) { c.Rewriter = r })
				w, other := login(t, p.addr), login(t, p.addr)
				w.send(append(proxytest.Messages(proxytest.Query("select pg_sleep(60)")), form.send...)...)
				cancelSleep(t, p.addr, w, other)
				close(r.proceed)
				proxytest.Received(t, r.slept)
				if err := sendCancel(p.addr, cancelOf(w)); err != nil {
					t.Fatal(err)
				}
				if got := w.until('Z') + "\n"; got != form.want {
					t.Errorf("got\n%swant\n%s", got, form.want)
				}
				wantNextWaits(t, w, r)
			})
		}
	})
}
