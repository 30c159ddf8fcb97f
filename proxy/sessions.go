package proxy

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"

	"go.uber.org/zap"
)

// sessions are all sessions of a Server, from the time when one knocks at a server to its end, and what they share.
// Its methods are safe for concurrent use.
type sessions struct {
	log  *zap.Logger
	pool *bufferPool
	// long and remembered are the memory that sessions share: for messages under way, and for the texts of what they
	// have prepared.
	long       *longMessages
	remembered *budget
	cancels    cancels
	counts     counters

	mu        sync.Mutex
	ending    bool   // no more are taken
	loops     *loops // from serve on
	loopCount int
	all       map[*session]bool // true: logged in, and counted in loggedIn
	loggedIn  int
	lastID    uint64
	running   sync.WaitGroup
}

// counters count what should not happen.
type counters struct {
	panics, desyncs atomic.Uint64
}

// newSessions has none yet. Without any loops each session has goroutines of its own.
func newSessions(log *zap.Logger, pool *bufferPool, loops int) *sessions {
	return &sessions{
		log: log, pool: pool, long: newLongMessages(gatherTotal), remembered: newBudget(rememberTotal),
		loopCount: loops, all: make(map[*session]bool),
	}
}

// serve starts the loops, unless they run or the sessions are to end.
func (s *sessions) serve() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.loops != nil || s.ending {
		return nil
	}
	loops, err := newLoops(s.loopCount, s.log, s.pool)
	if err != nil {
		return fmt.Errorf("serving: %w", err)
	}
	s.loops = loops
	return nil
}

// admit makes a session known that is to log in; there may be limit sessions, 0: any number. Whether it finds a place
// is known when it has: until then it holds none, for anybody can come this far. plain: it is one of replication.
func (s *sessions) admit(client *link, plain bool, limit int) (*session, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ending {
		return nil, sayShutdown()
	}
	if s.isFull(limit) {
		return nil, sayTooManyClients()
	}
	s.lastID++
	sess := &session{all: s, clientLink: client, plain: plain, log: s.log.With(zap.Uint64("session", s.lastID))}
	s.all[sess] = false
	s.running.Add(1)
	return sess, nil
}

// count gives a session that has logged in a place, if there is one.
func (s *sessions) count(sess *session, limit int) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.isFull(limit) {
		return sayTooManyClients()
	}
	s.all[sess] = true
	s.loggedIn++
	return nil
}

// isFull is called with s.mu held.
func (s *sessions) isFull(limit int) bool { return limit > 0 && s.loggedIn >= limit }

// launch runs sess, unless the sessions are to end: then nobody would tell this one. rest is what the server sent behind
// its first ReadyForQuery.
func (s *sessions) launch(sess *session, rest []byte) bool {
	ctx, cancel := context.WithCancel(context.Background())
	if !s.enter(sess, cancel) {
		cancel()
		return false
	}
	sess.start(ctx, rest)
	return true
}

// enter marks sess as running.
func (s *sessions) enter(sess *session, cancel context.CancelFunc) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ending {
		return false
	}
	sess.cancel = cancel
	sess.share(s.long, s.remembered, sess.letGo, sess.lookForClient)
	s.cancels.serve(sess.key, sess)
	s.loops.take(sess)
	sess.running.Store(2)
	return true
}

// forget counts a session out.
func (s *sessions) forget(sess *session) {
	if sess.key != "" {
		s.cancels.remove(sess.key)
	}
	sess.down.release()
	s.mu.Lock()
	if s.all[sess] {
		s.loggedIn--
	}
	delete(s.all, sess)
	s.mu.Unlock()
	s.running.Done()
}

// census is how many sessions there are, how many of them have logged in, and how many cancel keys are known.
type census struct{ known, loggedIn, keys int }

func (s *sessions) census() census {
	s.mu.Lock()
	defer s.mu.Unlock()
	return census{known: len(s.all), loggedIn: s.loggedIn, keys: s.cancels.size()}
}

// end has no more sessions taken.
func (s *sessions) end() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.ending = true
}

// drain has every session end as soon as it is idle, expire now, and stop without a word.
func (s *sessions) drain()  { s.each((*session).drain) }
func (s *sessions) expire() { s.each((*session).expire) }
func (s *sessions) stop()   { s.each((*session).stop) }

// each calls f for every session that runs.
func (s *sessions) each(f func(*session)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for sess := range s.all {
		if sess.running.Load() > 0 {
			f(sess)
		}
	}
}

// serverOf returns how to reach the server that gave out a cancel key.
func (s *sessions) serverOf(key cancelKey) (at target, known bool) { return s.cancels.find(key) }

// cancelHeld is session.cancelHeld for the session with that key.
func (s *sessions) cancelHeld(ctx context.Context, key cancelKey) (done bool) {
	sess := s.cancels.session(key)
	return sess != nil && sess.cancelHeld(ctx)
}

// keys are the cancel keys of all sessions that run.
func (s *sessions) keys() (keys []cancelKey) {
	s.each(func(sess *session) {
		if sess.key != "" {
			keys = append(keys, sess.key)
		}
	})
	return keys
}

// close waits until all sessions have ended, and ends the loops. It comes after end, and may be called more than once.
func (s *sessions) close() {
	s.running.Wait()
	s.mu.Lock()
	loops := s.loops
	s.loops = nil
	s.mu.Unlock()
	if loops != nil {
		loops.close()
	}
}
