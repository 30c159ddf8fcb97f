package access

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgproto3"
	"go.uber.org/zap"
)

// clock is a time that a test moves.
type clock struct {
	mu sync.Mutex
	at time.Time
}

func (c *clock) now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.at
}

func (c *clock) add(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.at = c.at.Add(d)
}

// serveAll plays a server that lets everybody in and answers every query with nothing. served counts its sessions.
func serveAll(t *testing.T, served *sync.WaitGroup) func(context.Context) (net.Conn, error) {
	return func(context.Context) (net.Conn, error) {
		ours, theirs := net.Pipe()
		served.Go(func() {
			defer func() { _ = theirs.Close() }()
			b := pgproto3.NewBackend(theirs, theirs)
			if _, err := b.ReceiveStartupMessage(); err != nil {
				t.Errorf("startup: %v", err)
				return
			}
			b.Send(&pgproto3.AuthenticationOk{})
			b.Send(&pgproto3.ReadyForQuery{TxStatus: 'I'})
			for b.Flush() == nil {
				m, err := b.Receive()
				if err != nil {
					return
				}
				if q, is := m.(*pgproto3.Query); is {
					status := byte('I')
					if strings.HasPrefix(q.String, "begin") {
						status = 'T'
					}
					b.Send(&pgproto3.CommandComplete{CommandTag: []byte(q.String)})
					b.Send(&pgproto3.ReadyForQuery{TxStatus: status})
				}
			}
		})
		return ours, nil
	}
}

// newTestStore makes a Store; await waits until its sessions at the server have ended.
func newTestStore(t *testing.T, trusting bool) (s *Store, c *clock, await func()) {
	var served sync.WaitGroup
	c = &clock{at: time.Unix(1e9, 0)}
	s = NewStore(Config{Dial: serveAll(t, &served), Trusting: trusting, Log: zap.NewNop(), Now: c.now})
	t.Cleanup(served.Wait)
	t.Cleanup(s.Close)
	return s, c, served.Wait
}

var here = netip.MustParseAddr("127.0.0.1")

func mustOpen(t *testing.T, s *Store, user string) *Login {
	t.Helper()
	l, err := s.Open(t.Context(), here, "", Credentials{User: user, Password: "hidden", Database: "db"})
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// A server that asks for no password is not believed.
func TestTrustIsNoLogin(t *testing.T) {
	t.Parallel()
	s, _, _ := newTestStore(t, false)
	if _, err := s.Open(t.Context(), here, "", Credentials{User: "u", Password: "p", Database: "db"}); err == nil || !strings.Contains(err.Error(), "require_auth") {
		t.Errorf("the error is %v", err)
	}
}

// A log-in ends when nobody has used it, when it is too old, and at the latest with the Store; its
// sessions end with it.
func TestEnds(t *testing.T) {
	t.Parallel()
	s, c, await := newTestStore(t, true)
	l := mustOpen(t, s, "u")
	cookie := s.Cookie(l)
	c.add(idleLimit - time.Second)
	if s.Find(cookie, false) != l {
		t.Fatal("it ended before its time")
	}
	c.add(2 * time.Second) // the page that brings itself up to date has not kept it
	if s.Find(cookie, true) != nil {
		t.Error("nobody has used it, and it is there")
	}
	<-l.Ended()
	l = mustOpen(t, s, "u")
	for range ageLimit / idleLimit * 2 {
		c.add(idleLimit / 2)
		s.Find(s.Cookie(l), true)
	}
	c.add(time.Second)
	if s.Find(s.Cookie(l), true) != nil {
		t.Error("it is a day old, and it is there")
	}
	<-l.Ended()
	if err := l.View(t.Context(), func(context.Context, pgx.Tx) error { return nil }); !errors.Is(err, ErrEnded) {
		t.Errorf("looking at something after the end: %v", err)
	}
	last := mustOpen(t, s, "u")
	s.Close()
	<-last.Ended()
	await()
}

// There are so many log-ins and no more: of one role, in whatever databases, the one goes that was
// not used for longest. Who comes later takes the place of one whose role has several, and of no
// other.
func TestLoginsAreBounded(t *testing.T) {
	t.Parallel()
	s, c, _ := newTestStore(t, true)
	open := func(user, database string) (*Login, error) {
		c.add(time.Second)
		return s.Open(t.Context(), here, "", Credentials{User: user, Password: "p", Database: database})
	}
	must := func(user, database string) *Login {
		t.Helper()
		l, err := open(user, database)
		if err != nil {
			t.Fatal(err)
		}
		return l
	}
	var own []*Login
	for i := range mostOfRole {
		own = append(own, must("u", fmt.Sprint("db", i)))
	}
	s.Find(s.Cookie(own[0]), true)
	must("u", "another")
	<-own[1].Ended()
	if s.Find(s.Cookie(own[0]), true) == nil {
		t.Error("one that was used just now has ended")
	}
	for i := mostOfRole; i < mostLogins; i++ {
		must(fmt.Sprint("u", i), "db")
	}
	for i := range mostOfRole - 1 { // the role that has several gives them up
		must(fmt.Sprint("late", i), "db")
	}
	<-own[7].Ended()
	var full *TooMany
	if _, err := open("latest", "db"); !errors.As(err, &full) {
		t.Errorf("one too many: %v", err)
	}
	if n := len(s.logins); n != mostLogins {
		t.Errorf("there are %d", n)
	}
}

// Once the sessions are open, nothing keeps the password.
func TestPasswordIsForgotten(t *testing.T) {
	t.Parallel()
	s, _, _ := newTestStore(t, true)
	l := mustOpen(t, s, "u")
	for _, c := range []*connection{l.view, l.change} {
		if cfg := c.pg.Config(); cfg.Password != "" || strings.Contains(fmt.Sprintf("%+v", *cfg), "hidden") {
			t.Errorf("the configuration has it: %+v", cfg)
		}
	}
	if strings.Contains(fmt.Sprintf("%+v", l), "hidden") {
		t.Errorf("the log-in has it: %+v", l)
	}
}

// Requests of one log-in take turns.
func TestTurns(t *testing.T) {
	t.Parallel()
	s, _, _ := newTestStore(t, true)
	l := mustOpen(t, s, "u")
	inside := make(chan struct{})
	leave := make(chan struct{})
	var done sync.WaitGroup
	done.Go(func() {
		if err := l.View(t.Context(), func(context.Context, pgx.Tx) error {
			close(inside)
			<-leave
			return nil
		}); err != nil {
			t.Error(err)
		}
	})
	<-inside
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := l.View(ctx, func(context.Context, pgx.Tx) error { return nil }); !errors.Is(err, ErrBusy) && !errors.Is(err, context.Canceled) {
		t.Errorf("a request that was given up: %v", err)
	}
	close(leave)
	done.Wait()
	if err := l.Change(t.Context(), func(context.Context, pgx.Tx) error { return nil }); err != nil {
		t.Error(err)
	}
}

// As long as attempts of one kind hang, however many there are, others log in: as another role, from
// another address, and with a browser that somebody has logged in with.
func TestCrowdKeepsNobodyOut(t *testing.T) {
	t.Parallel()
	var served sync.WaitGroup
	serve := serveAll(t, &served)
	hangs := make(chan bool, 100) // gets a value when one does
	s := NewStore(Config{Dial: func(ctx context.Context) (net.Conn, error) {
		if ctx.Value(hanging{}) != nil {
			hangs <- true
			<-ctx.Done()
			return nil, ctx.Err()
		}
		return serve(ctx)
	}, Trusting: true, Log: zap.NewNop()})
	t.Cleanup(served.Wait)
	t.Cleanup(s.Close)
	browser := s.Known(mustOpen(t, s, "u0"))
	refused := make(chan error, 100)
	const crowd = 20
	for i := range crowd { // of each of five roles four
		go func() {
			_, err := s.Open(context.WithValue(t.Context(), hanging{}, true), here, "", Credentials{User: fmt.Sprint("u", i%5), Password: "p", Database: "db"})
			refused <- err
		}()
	}
	mustRefuse := func(n int) {
		t.Helper()
		for range n {
			var many *TooMany
			if err := <-refused; !errors.As(err, &many) {
				t.Errorf("one of the crowd: %v", err)
			}
		}
	}
	mustRefuse(crowd - mostLoggingIn)
	for range mostLoggingIn {
		<-hangs
	}
	for what, c := range map[string]struct{ from, browser, user string }{
		"another role": {"127.0.0.1", "", "v"}, "another address": {"192.0.2.1", "", "u0"}, "a known browser": {"127.0.0.1", browser, "u0"},
	} {
		if _, err := s.Open(t.Context(), netip.MustParseAddr(c.from), c.browser, Credentials{User: c.user, Password: "p", Database: "db"}); err != nil {
			t.Errorf("%s: %v", what, err)
		}
	}
	mustRefuse(1) // which made room
}

// hanging is the key of attempts whose server does not answer.
type hanging struct{}
