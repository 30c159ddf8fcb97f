package relay

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"go.uber.org/zap"

	"mbusproxy/proxy/endpoint"
	"mbusproxy/proxy/fatal"
	"mbusproxy/proxy/memory"
	"mbusproxy/proxy/pipeline/names"
	"mbusproxy/proxy/upstream"
	"mbusproxy/proxy/wire"
)

// Sessions are all sessions of a Server, from the time when one knocks at a server to its end, and what they share.
// Its methods are safe for concurrent use.
type Sessions struct {
	log  *zap.Logger
	pool *wire.BufferPool
	// Long and remembered are the memory that sessions share: for messages under way, and for the texts of what they
	// have prepared.
	Long       *memory.LongMessages
	remembered *memory.Budget
	cancels    cancels
	Counts     counters
	// Grace is graceTime. Only tests change it, before there are sessions.
	Grace time.Duration

	mu        sync.Mutex
	ending    bool   // no more are taken
	loops     *loops // from Serve on
	loopCount int
	all       map[*Session]bool // true: counted in loggedIn
	loggedIn  int
	lastID    uint64
	past      Traffic // of sessions that have ended
	running   sync.WaitGroup
}

// counters count what should not happen.
type counters struct {
	Panics, LostSync atomic.Uint64
}

// NewSessions has none yet. Without any loops each session has goroutines of its own.
func NewSessions(log *zap.Logger, pool *wire.BufferPool, loops int) *Sessions {
	return &Sessions{
		log: log, pool: pool, Long: memory.NewLongMessages(memory.LongMessagesTotal), remembered: memory.NewBudget(names.RememberTotal),
		loopCount: loops, Grace: graceTime, all: make(map[*Session]bool),
	}
}

// Serve starts the loops, unless they run or the sessions are to end.
func (s *Sessions) Serve() error {
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

// Admit registers a session that is about to log in. It does not count against limit (0: there is
// none) until Count is called after the login, for anybody can come this far. It fails if limit is
// reached already, or after End. replication: it is a replication connection.
func (s *Sessions) Admit(client *endpoint.Endpoint, replication bool, limit int) (*Session, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ending {
		return nil, fatal.Shutdown()
	}
	if s.isFull(limit) {
		return nil, fatal.TooManyClients()
	}
	s.lastID++
	sess := &Session{all: s, client: client, replication: replication}
	sess.seen.id, sess.seen.since, sess.seen.client = s.lastID, time.Now(), client.Remote()
	s.all[sess] = false
	s.running.Add(1)
	return sess, nil
}

// Count gives a session that has logged in a place, if there is one.
func (s *Sessions) Count(sess *Session, limit int) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.isFull(limit) {
		return fatal.TooManyClients()
	}
	s.all[sess] = true
	s.loggedIn++
	return nil
}

// isFull is called with s.mu held.
func (s *Sessions) isFull(limit int) bool { return limit > 0 && s.loggedIn >= limit }

// Launch runs sess, unless the sessions are to end: then nobody would tell this one. rest is what
// the server sent behind its first ReadyForQuery.
func (s *Sessions) Launch(sess *Session, rest []byte) bool {
	ctx, taken := s.enter(sess)
	if taken {
		sess.start(ctx, rest)
	}
	return taken
}

// enter marks sess as running. ctx is for Session.start.
func (s *Sessions) enter(sess *Session) (ctx context.Context, taken bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ending {
		return nil, false
	}
	sess.Share(s.Long, s.remembered, sess.stopBuffering, sess.lookForClient, sess.clientGone)
	s.loops.take(sess)
	if ctx = context.Background(); sess.looped == nil {
		sess.ofGoroutines = &ofGoroutines{roomy: make(chan struct{}, 1)}
		ctx, sess.cancel = context.WithCancel(ctx)
	}
	sess.running.Store(2)
	s.cancels.serve(sess.key, sess)
	return ctx, true
}

// forget counts a session out.
func (s *Sessions) forget(sess *Session) {
	if sess.key != "" {
		s.cancels.remove(sess.key)
	}
	sess.Down.Release()
	s.mu.Lock()
	if s.all[sess] {
		s.loggedIn--
	}
	delete(s.all, sess)
	s.past.add(sess)
	s.mu.Unlock()
	s.running.Done()
}

// Census is how many sessions there are, how many of them have logged in, and how many cancel keys are known.
type Census struct{ Known, LoggedIn, Keys int }

// Census counts the sessions.
func (s *Sessions) Census() Census {
	s.mu.Lock()
	defer s.mu.Unlock()
	return Census{Known: len(s.all), LoggedIn: s.loggedIn, Keys: s.cancels.size()}
}

// End has no more sessions taken.
func (s *Sessions) End() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.ending = true
}

// Drain has every session end as soon as nothing is outstanding.
func (s *Sessions) Drain() { s.each((*Session).drain) }

// Expire has every session end now, idle or not, with a word to its client; it takes up to ExpireTime.
func (s *Sessions) Expire() { s.each((*Session).expire) }

// Stop closes the connections of every session at once, without a word.
func (s *Sessions) Stop() { s.each((*Session).stop) }

// each calls f for every session that runs.
func (s *Sessions) each(f func(*Session)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for sess := range s.all {
		if sess.running.Load() > 0 {
			f(sess)
		}
	}
}

// ServerOf returns how to reach the server that gave out a cancel key.
func (s *Sessions) ServerOf(key wire.CancelKey) (at upstream.Target, known bool) {
	return s.cancels.find(key)
}

// Cancel returns the cancel request that has just come for the session with that key.
func (s *Sessions) Cancel(key wire.CancelKey) *Cancel {
	return &Cancel{cancels: &s.cancels, key: key}
}

// Keys are the cancel keys of all sessions that run.
func (s *Sessions) Keys() (keys []wire.CancelKey) {
	s.each(func(sess *Session) {
		if sess.key != "" {
			keys = append(keys, sess.key)
		}
	})
	return keys
}

// Close waits until all sessions have ended, and ends the loops. It comes after End, and may be called more than once.
func (s *Sessions) Close() {
	s.running.Wait()
	s.mu.Lock()
	loops := s.loops
	s.loops = nil
	s.mu.Unlock()
	if loops != nil {
		loops.close()
	}
}
