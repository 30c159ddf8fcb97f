package proxy

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net"
	"os"
	"time"

	"go.uber.org/zap"

	"mbusproxy/proxy/auth"
	"mbusproxy/proxy/endpoint"
	"mbusproxy/proxy/fatal"
	"mbusproxy/proxy/pipeline"
	"mbusproxy/proxy/pipeline/names"
	"mbusproxy/proxy/relay"
	"mbusproxy/proxy/startup"
	"mbusproxy/proxy/upstream"
	"mbusproxy/proxy/wire"
)

// serve takes an accepted connection through startup; the session then runs on its own.
func (s *Server) serve(ctx context.Context, conn net.Conn, st *startup.Client) {
	l, err := endpoint.New(conn, s.pool)
	if err != nil {
		_ = conn.Close()
		s.log.Error("connection dropped", zap.Error(err))
		return
	}
	started := false
	defer func() {
		if !started {
			l.TakeRest()
			l.Close()
			st.EndTurn()
		}
	}()
	st.Watch(l)
	ctx, cancel := context.WithTimeout(ctx, s.limits.Load().StartupTimeout)
	defer cancel()
	stop := context.AfterFunc(ctx, l.Interrupt)
	sess, console, rest, err := s.startup(ctx, l, st)
	// From here on the deadline must not strike: it would interrupt a running session.
	struck := !stop()
	if err == nil && console != nil {
		st.Unwatch()
		if struck {
			_ = l.Socket.SetDeadline(time.Time{})
		}
		s.pace.Forgive()
		s.serveConsole(l, console)
		return
	}
	if err == nil && sess == nil { // a cancel request
		return
	}
	if err == nil {
		st.Unwatch()
		if struck || !s.sessions.Launch(sess, rest) {
			sess.Abandon()
			err = context.Canceled
		}
	}
	if err != nil {
		st.TakeTurn()
		s.refuse(ctx, l, st, err)
		return
	}
	started = true
	s.pace.Forgive()
}

// refuse tells the client why there is no session, where that can be told.
func (s *Server) refuse(ctx context.Context, l *endpoint.Endpoint, st *startup.Client, err error) {
	var said *fatal.Error
	var gone *auth.ServerGone
	switch {
	case errors.Is(err, wire.ErrNotSpoken), errors.Is(err, auth.ErrRefused):
	case !st.Asked && (ctx.Err() != nil || errors.Is(err, os.ErrDeadlineExceeded)):
		// Nothing was asked: there is nothing to answer, as with the server.
	case errors.Is(context.Cause(ctx), startup.ErrSilent):
		said = fatal.TooSlow()
	case errors.As(context.Cause(ctx), &said):
	case errors.Is(err, startup.ErrCrowded):
		said = fatal.Crowded()
	case errors.Is(ctx.Err(), context.Canceled), errors.Is(err, context.Canceled):
		said = fatal.Shutdown()
	case ctx.Err() != nil || errors.Is(err, os.ErrDeadlineExceeded):
		said = fatal.StartupTimeout()
	case errors.As(err, &said):
	case errors.As(err, &gone):
		s.log.Warn("server closed during startup", zap.Error(gone.Err))
		said = fatal.ServerLost()
	}
	s.log.Debug("no session", zap.Error(err))
	s.counts.refused(said, err)
	if said == nil {
		return
	}
	_ = l.Socket.SetDeadline(time.Now().Add(endpoint.GoodbyeTime))
	_ = l.Write(said.Encode(nil))
	l.CloseWrite()
}

// startup returns the session and what the server sent behind its first ReadyForQuery, or who has
// logged in to the console. Neither and a nil error mean that a cancel request was served.
func (s *Server) startup(ctx context.Context, l *endpoint.Endpoint, st *startup.Client) (*relay.Session, *consoleLogin, []byte, error) {
	st.TakeTurn()
	p, err := startup.Negotiate(ctx, l, st, s.TLS())
	st.EndTurn()
	if err != nil {
		return nil, nil, nil, err
	}
	if p.Code() == wire.CodeCancel {
		if !s.knows(p) {
			s.stray(ctx)
			return nil, nil, nil, nil
		}
		if err := s.logins.Enter(ctx, st); err != nil {
			return nil, nil, nil, wire.ErrNotSpoken // nobody reads an answer
		}
		defer s.logins.Leave(st)
		s.logins.Forgive(st)
		s.cancel(ctx, p)
		return nil, nil, nil, nil
	}
	st.Asked = true
	params, wellFormed := wire.ParseParameters(p)
	if s.cfg.TLSRequired && l.TLS == nil && !l.IsUnix() {
		return nil, nil, nil, fatal.TLSRequired()
	}
	console := false
	limit := s.limits.Load().MaxConnections
	if s.cfg.Console != nil && wellFormed && !params.Replication {
		var instead string
		if instead, console = s.cfg.Console.Login(ctx, params.Database); console {
			p, limit = p.WithDatabase(instead), 0 // who has to look why it is full gets in
		}
	}
	sess, err := s.sessions.Admit(l, params.Replication, limit)
	if err != nil {
		return nil, nil, nil, err
	}
	attempt := &loginAttempt{server: s, client: st, session: sess, limit: limit}
	keyed := sess.Keyed
	if console { // it is no session, and nothing of it can be cancelled
		attempt.session, keyed = nil, nil
	}
	a := auth.Exchange{
		Client: l, User: params.User, Verifiers: s.verifiers, Log: sess.Log(), Refusable: !wellFormed,
		Old:      p.Code()>>16 < wire.ProtocolMajor,
		LoggedIn: attempt.succeeded, Overdue: attempt.overdue, Asked: func() error { return attempt.asked(ctx) },
	}
	var g *auth.Greeting
	var c *upstream.Connection
	st.Name = names.Key([]byte(params.User))
	if err = attempt.enter(ctx); err == nil {
		g, c, err = s.connect(ctx, p, a, keyed)
		if own := new(fatal.Error); errors.As(err, &own) {
			s.logins.Forgive(st) // no server can be reached, or there is no room for one more session
		}
		attempt.left()
	}
	if err != nil {
		sess.Abandon()
		return nil, nil, nil, err
	}
	if console {
		sess.Abandon()
		return nil, &consoleLogin{c, params.User, params.Database}, nil, nil
	}
	sess.Connected(c, pipeline.SessionInfo{
		Rewriter: s.cfg.Rewriter, Secret: rand.Text()[:secretLen], User: params.User, Database: params.Database, Began: time.Now(),
		Settings: g.Settings, Txn: g.Txn,
	})
	return sess, nil, g.Rest, nil
}

// secretLen is the length of statements.Context.Secret, in letters of 5 bits.
const secretLen = 16

// connect finds a server that takes the session and relays authentication with it, for which a is
// the beginning. keyed is called with the session's cancel key before the client has it, unless it
// is nil.
func (s *Server) connect(ctx context.Context, p wire.StartupPacket, a auth.Exchange, keyed func(wire.CancelKey, upstream.Target)) (*auth.Greeting, *upstream.Connection, error) {
	p, a.AsIf = p.Asked()
	up, err := s.upstreams.Route(ctx)
	if err != nil {
		return nil, nil, s.unfit(err)
	}
	for first := 0; ; {
		c, err := up.Dial(ctx, s.pool, first)
		if err != nil && first == 0 && ctx.Err() == nil {
			if again, rerr := s.upstreams.Reroute(ctx, up); rerr != nil {
				return nil, nil, s.unfit(rerr)
			} else if again != nil {
				up = again
				c, err = up.Dial(ctx, s.pool, first)
			}
		}
		if err != nil {
			if ctx.Err() != nil {
				return nil, nil, fmt.Errorf("connecting to server: %w", ctx.Err())
			}
			s.log.Warn("server cannot be reached", zap.Error(err))
			return nil, nil, fatal.Unreachable()
		}
		first = c.Next
		stop := context.AfterFunc(ctx, c.Endpoint.Interrupt)
		var g *auth.Greeting
		if err = c.Endpoint.Write(p); err != nil {
			err = &auth.ServerGone{Err: err}
		} else {
			a := a
			a.Server = c.Endpoint
			if keyed != nil {
				a.Keyed = func(key wire.CancelKey) { keyed(key, c.At) }
			}
			g, err = a.Run(ctx, up.Another(first))
		}
		if !stop() && err == nil {
			err = context.Cause(ctx)
		}
		if err == nil {
			return g, c, nil
		}
		c.Endpoint.Close()
		if !errors.Is(err, auth.ErrOtherTarget) {
			return nil, nil, err
		}
	}
}

// unfit logs why no server fits, which is not for clients that have not logged in.
func (s *Server) unfit(err error) error {
	var none *upstream.NoneFits
	if !errors.As(err, &none) {
		return err
	}
	s.log.Warn("no server fits target_session_attrs", zap.Error(none.Err))
	return fatal.NoneFits()
}
