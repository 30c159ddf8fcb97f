package access

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"slices"
	"sync"
	"time"

	"go.uber.org/zap"

	"mbusproxy/internal/quota"
)

// Bounds of log-ins.
const (
	mostLogins    = 32 // in all
	mostOfRole    = 8  // of one role, in whatever databases; then the one goes that was not used for longest
	mostLoggingIn = 12 // at a time, of browsers that are not known to the role; and half as many of those that are
	mostOfAttempt = 3  // of what counts as the same attempt
	idleLimit     = 30 * time.Minute
	ageLimit      = 24 * time.Hour
	sweepPause    = 15 * time.Second
)

// Config says how a Store logs people in.
type Config struct {
	// Dial opens a connection to the proxy.
	Dial func(ctx context.Context) (net.Conn, error)
	// Trusting lets in whom the server asks for no password: for a private server on this machine.
	Trusting bool
	// Check comes first in each transaction of View and Change; nil: nothing does.
	Check Check
	Log   *zap.Logger
	// Now is the clock; nil: time.Now.
	Now func() time.Time
}

// Credentials are what a person gives to log in.
type Credentials struct{ User, Password, Database string }

// TooMany is the error of a log-in for which there is no place now.
type TooMany struct {
	Message string
	Wait    time.Duration // after which it may be tried again
}

func (e *TooMany) Error() string { return e.Message }

// Store is the log-ins that there are.
type Store struct {
	cfg     Config
	sign    *signer
	limits  *limiter
	unknown *quota.Places[attempt] // of those who are logging in
	known   *quota.Places[attempt] // of those whose browsers have done so before
	stopped chan struct{}
	done    sync.WaitGroup

	mu     sync.Mutex
	logins map[string]*Login // by id
	closed bool
}

// NewStore makes a Store. Close ends it.
func NewStore(cfg Config) *Store {
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	s := &Store{
		cfg: cfg, sign: newSigner(), limits: newLimiter(),
		unknown: quota.New[attempt](mostLoggingIn, mostOfAttempt), known: quota.New[attempt](mostLoggingIn/2, mostOfAttempt),
		stopped: make(chan struct{}), logins: map[string]*Login{},
	}
	s.done.Go(s.sweep)
	return s
}

// methods are the ways to log in of require_auth that prove a password to the server without telling it to anybody.
const methods = "scram-sha-256,md5"

// errCrowd is the error of those for whom too many log in.
var errCrowd = &TooMany{"too many are logging in just now", time.Second}

// Open logs somebody in who comes from an address, with what the browser has kept of Known. Errors are *TooMany and those of pgconn.
func (s *Store) Open(ctx context.Context, from netip.Addr, browser string, who Credentials) (*Login, error) {
	known := same(browser, s.knows(who.User))
	a, places := newAttempt(who.User, from, known), s.unknown
	if known {
		places = s.known
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), connectLimit) // nobody tries faster by going away
	defer cancel()
	place, err := places.Take(a, cancel)
	if err != nil {
		return nil, errCrowd
	}
	defer place.Leave()
	if wait, ok := s.limits.take(a, s.cfg.Now()); !ok {
		return nil, &TooMany{"there were too many attempts to log in", wait}
	}
	l, err := s.open(ctx, who)
	if err != nil {
		if errors.Is(ctx.Err(), context.Canceled) { // it is another's place
			return nil, errCrowd
		}
		return nil, err
	}
	s.limits.giveBack(a, s.cfg.Now())
	s.cfg.Log.Info("page: logged in", zap.String("user", l.User), zap.String("database", l.Database), zap.Stringer("from", from))
	return l, nil
}

func (s *Store) open(ctx context.Context, who Credentials) (*Login, error) {
	allowed := methods
	if s.cfg.Trusting {
		allowed = "" // any
	}
	view, err := connect(ctx, s.cfg.Dial, who, allowed, true)
	if err != nil {
		return nil, err
	}
	change, err := connect(ctx, s.cfg.Dial, who, allowed, false)
	if err != nil {
		view.close()
		return nil, err
	}
	now := s.cfg.Now()
	l := &Login{
		User: who.User, Database: who.Database, Began: now, Token: newSecret(), id: newSecret(), store: s,
		view: view, change: change, ended: make(chan struct{}), used: now,
	}
	if err := s.add(l); err != nil {
		l.end()
		return nil, err
	}
	return l, nil
}

// add keeps a log-in, and ends the oldest of the role's where it has too many. Where there are too
// many in all, the role gives one up that has most of them, if it keeps as many as the one that
// comes: so one role does not keep the others out.
func (s *Store) add(l *Login) error {
	s.mu.Lock()
	if s.closed {
		s.mu.Unlock()
		return errors.New("the proxy is ending")
	}
	each := map[string][]*Login{}
	for _, o := range s.logins {
		each[o.User] = append(each[o.User], o)
	}
	var from []*Login // of which the oldest goes
	switch own := each[l.User]; {
	case len(own) >= mostOfRole:
		from = own
	case len(s.logins) >= mostLogins:
		for _, others := range each {
			if len(others) > max(len(from), len(own)+1) {
				from = others
			}
		}
	}
	var old *Login
	if len(from) > 0 {
		old = slices.MinFunc(from, func(a, b *Login) int { return a.lastUsed().Compare(b.lastUsed()) })
		delete(s.logins, old.id)
	}
	full := len(s.logins) >= mostLogins
	if !full {
		s.logins[l.id] = l
	}
	s.mu.Unlock()
	if old != nil {
		go old.end() // it may be in use
	}
	if full {
		return &TooMany{fmt.Sprintf("%d are logged in already; who does nothing for %v is logged out", mostLogins, idleLimit), sweepPause}
	}
	return nil
}

// Cookie is what the browser of a log-in keeps.
func (s *Store) Cookie(l *Login) string { return s.sign.sign("login", l.id) }

// Known is what the browser of a log-in keeps for the next one, so that others who guess do not keep it out. It tells
// nobody but this Store whose it is.
func (s *Store) Known(l *Login) string { return s.knows(l.User) }

func (s *Store) knows(role string) string { return s.sign.seal("browser", role) }

// Find gives the log-in of a cookie, nil where there is none. asked says that a person wants
// something, and not a page that brings itself up to date.
func (s *Store) Find(cookie string, asked bool) *Login {
	id, ok := s.sign.open("login", cookie)
	if !ok {
		return nil
	}
	s.mu.Lock()
	l := s.logins[id]
	s.mu.Unlock()
	if l == nil {
		return nil
	}
	if s.over(l) {
		s.End(l)
		return nil
	}
	if asked {
		l.touch(s.cfg.Now())
	}
	return l
}

func (s *Store) over(l *Login) bool {
	now := s.cfg.Now()
	return now.Sub(l.lastUsed()) > idleLimit || now.Sub(l.Began) > ageLimit
}

// End ends a log-in.
func (s *Store) End(l *Login) {
	s.mu.Lock()
	_, is := s.logins[l.id]
	delete(s.logins, l.id)
	s.mu.Unlock()
	if is {
		s.cfg.Log.Info("page: logged out", zap.String("user", l.User), zap.String("database", l.Database))
	}
	go l.end() // it may be the one that tells that its session has ended
}

// Each gives the log-ins that there are.
func (s *Store) Each(f func(*Login)) {
	s.mu.Lock()
	all := make([]*Login, 0, len(s.logins))
	for _, l := range s.logins {
		all = append(all, l)
	}
	s.mu.Unlock()
	for _, l := range all {
		f(l)
	}
}

// NewForm is a text for the cookie of somebody who is about to log in, and what the form is to send along.
func (s *Store) NewForm() (cookie, token string) {
	cookie = newSecret()
	return cookie, s.sign.seal("form", cookie)
}

// IsForm reports whether a cookie and a form's token belong together.
func (s *Store) IsForm(cookie, token string) bool {
	return cookie != "" && same(token, s.sign.seal("form", cookie))
}

// sweep ends the log-ins that nobody uses.
func (s *Store) sweep() {
	tick := time.NewTicker(sweepPause)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
			s.Each(func(l *Login) {
				if s.over(l) {
					s.End(l)
				}
			})
		case <-s.stopped:
			return
		}
	}
}

// Close ends all log-ins.
func (s *Store) Close() {
	s.mu.Lock()
	if s.closed {
		s.mu.Unlock()
		return
	}
	s.closed = true
	all := s.logins
	s.logins = map[string]*Login{}
	s.mu.Unlock()
	close(s.stopped)
	for _, l := range all {
		l.end()
	}
	s.done.Wait()
}
