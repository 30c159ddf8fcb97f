package proxy

import (
	"context"
	"errors"
	"fmt"
	"net"
	"sync"
	"sync/atomic"
	"time"

	"go.uber.org/zap"

	"mbusproxy/proxy/auth"
	"mbusproxy/proxy/listen"
	"mbusproxy/proxy/relay"
	"mbusproxy/proxy/startup"
	"mbusproxy/proxy/upstream"
	"mbusproxy/proxy/wire"
)

// Server is the proxy: it accepts clients on its listeners and runs their sessions. Its methods
// are safe for concurrent use.
type Server struct {
	cfg       Config                 // but for what limits holds
	limits    atomic.Pointer[Limits] // in force for new sessions
	log       *zap.Logger
	upstreams *upstream.Servers
	verifiers *auth.Cache
	pool      *wire.BufferPool
	sessions  *relay.Sessions
	panics    atomic.Uint64 // of startups
	counts    counts
	arrived   atomic.Int64  // when the last client came, in nanoseconds since 1970
	starting  atomic.Int64  // startups under way
	consoles  atomic.Int64  // clients in a Console
	places    *startup.Gate // of connections in startup
	logins    *startup.Gate // of those of them that need the server
	held      *startup.Held // those of them for which the server is awaited
	turns     startup.Turns // of what they do with the processors
	pace      *startup.Pace // of accepting those that come to no session

	// ctx ends the startups under way at Shutdown and Close.
	startups       func() context.Context
	cancelStartups context.CancelFunc

	mu        sync.Mutex
	state     serverState
	listeners []net.Listener
	// handlers counts the startups.
	handlers sync.WaitGroup
	// ended is closed when Shutdown or Close has ended all, and lets Serve return.
	ended chan struct{}
}

// serverState is where a Server stands in its life.
type serverState int

const (
	serverNew       serverState = iota // made by New
	serverListening                    // Listen has bound all addresses
	serverEnding                       // Shutdown or Close has begun: no new clients
)

func (s serverState) String() string {
	return [...]string{"new", "listening", "ending"}[s]
}

// New checks the configuration. It opens nothing.
func New(cfg Config) (*Server, error) { return newServer(cfg, relay.DefaultLoops()) }

// newServer is New with the number of loops; without any, each session has goroutines.
func newServer(cfg Config, loopCount int) (*Server, error) {
	cfg, err := cfg.complete()
	if err != nil {
		return nil, err
	}
	for _, a := range cfg.Listen {
		if err := listen.CheckAddress(a); err != nil {
			return nil, err
		}
	}
	ctx, cancel := context.WithCancel(context.Background())
	startups := func() context.Context { return ctx }
	up, err := upstream.Parse(cfg.Upstream, cfg.Admin, cfg.socketOptions().Dialer(), startups)
	if err != nil {
		cancel()
		return nil, err
	}
	s := &Server{
		cfg: cfg, log: cfg.Log, upstreams: up, verifiers: auth.NewCache(cfg.Verifiers), pool: wire.NewBufferPool(),
		startups: startups, cancelStartups: cancel,
		ended: make(chan struct{}),
	}
	s.sessions = relay.NewSessions(s.log, s.pool, loopCount)
	s.limits.Store(cfg.limits())
	s.places, s.logins, s.held = startup.NewGates(startup.Descriptors())
	s.turns, s.pace = startup.NewTurns(), startup.NewPace()
	return s, nil
}

func (s *Server) startupContext() context.Context { return s.startups() }

// errListening and errNotBound are the errors of calls in the wrong order.
var (
	errListening = errors.New("server listens already")
	errNotBound  = errors.New("server does not listen")
)

// Listen binds all addresses, or takes the inherited sockets; on an error none stays bound.
func (s *Server) Listen() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.state != serverNew {
		return errListening
	}
	listeners, err := s.cfg.bind()
	if err != nil {
		return err
	}
	s.listeners = listeners
	s.state = serverListening
	return nil
}

// Addrs returns the addresses bound by Listen, in the order of Config.Listen or Config.Inherited; a unix socket has
// the path of its file.
func (s *Server) Addrs() []net.Addr {
	s.mu.Lock()
	defer s.mu.Unlock()
	addrs := make([]net.Addr, len(s.listeners))
	for i, l := range s.listeners {
		addrs[i] = l.Addr()
	}
	return addrs
}

// Serve accepts clients until Shutdown or Close, then returns nil once every session has ended.
func (s *Server) Serve() error {
	s.mu.Lock()
	if s.state == serverNew {
		s.mu.Unlock()
		return fmt.Errorf("serving: %w", errNotBound)
	}
	listeners := s.listeners
	s.mu.Unlock()
	if err := s.sessions.Serve(); err != nil {
		return err
	}
	var accepting sync.WaitGroup
	for _, l := range listeners {
		accepting.Go(func() { s.accept(l) })
	}
	accepting.Wait()
	<-s.ended
	return nil
}

// accept takes clients from one listener until it is closed.
func (s *Server) accept(l net.Listener) {
	for {
		s.turns.Pass() // a connection more is no more urgent than one that was taken
		conn, err := l.Accept()
		if err != nil {
			if errors.Is(err, net.ErrClosed) {
				return
			}
			// Out of descriptors or memory: it may pass.
			s.log.Error("accepting failed", zap.Error(err))
			select {
			case <-time.After(acceptPause):
				continue
			case <-s.startupContext().Done():
				return
			}
		}
		if !s.take(conn) {
			return
		}
		s.pace.Keep(s.startupContext())
	}
}

// take begins the startup of a connection, once there is a place for it: the system keeps those
// that come meanwhile. It reports false when the server is ending, with the connection closed.
func (s *Server) take(conn net.Conn) bool {
	if !s.enter() {
		_ = conn.Close()
		return false
	}
	s.starting.Add(1)
	s.arrived.Store(time.Now().UnixNano())
	ctx, end := context.WithCancelCause(s.startupContext())
	st := startup.New(conn, end, s.turns)
	admitted := s.places.Enter(ctx, st)
	go func() {
		defer s.handlers.Done()
		defer s.starting.Add(-1)
		defer end(nil)
		if admitted != nil { // the server is ending
			_ = conn.Close()
			return
		}
		defer s.places.Leave(st)
		s.guard(func() { s.serve(ctx, conn, st) })
	}()
	return true
}

// acceptPause is the wait after a failed accept.
const acceptPause = 100 * time.Millisecond

// enter counts a handler in, unless the server is ending.
func (s *Server) enter() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.state == serverEnding {
		return false
	}
	s.handlers.Add(1)
	return true
}

// guard keeps a panic during startup from ending the proxy.
func (s *Server) guard(f func()) {
	defer func() {
		if p := recover(); p != nil {
			s.panics.Add(1)
			s.log.Error("startup ended by a panic", zap.Any("panic", p), zap.Stack("stack"))
		}
	}()
	f()
}
