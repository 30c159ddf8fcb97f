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
)

// serve takes an accepted connection through startup; the session then runs on its own.
func (s *Server) serve(ctx context.Context, conn net.Conn, st *startup) {
	l, err := newLink(conn, s.pool)
	if err != nil {
		_ = conn.Close()
		s.log.Error("connection dropped", zap.Error(err))
		return
	}
	started := false
	defer func() {
		if !started {
			l.takeRest()
			l.close()
		}
	}()
	st.watch(l)
	ctx, cancel := context.WithTimeout(ctx, s.limits.Load().StartupTimeout)
	defer cancel()
	stop := context.AfterFunc(ctx, l.interrupt)
	sess, rest, err := s.startup(ctx, l, st)
	// From here on the deadline must not strike: it would interrupt a running session.
	struck := !stop()
	if err == nil && sess == nil { // a cancel request
		return
	}
	if err == nil {
		st.unwatch()
		if struck || !s.sessions.launch(sess, rest) {
			sess.abandon()
			err = context.Canceled
		}
	}
	if err != nil {
		s.refuse(ctx, l, st, err)
		return
	}
	started = true
}

// refuse tells the client why there is no session, where that can be told.
func (s *Server) refuse(ctx context.Context, l *link, st *startup, err error) {
	var said *fatal
	var gone *serverGone
	switch {
	case errors.Is(err, errNotSpoken), errors.Is(err, errRefused):
	case !st.asked && (ctx.Err() != nil || errors.Is(err, os.ErrDeadlineExceeded)):
		// Nothing was asked: there is nothing to answer, as with the server.
	case errors.Is(context.Cause(ctx), errSilent):
		said = sayTooSlow()
	case errors.Is(err, errCrowded):
		said = sayCrowded()
	case errors.Is(ctx.Err(), context.Canceled), errors.Is(err, context.Canceled):
		said = sayShutdown()
	case ctx.Err() != nil || errors.Is(err, os.ErrDeadlineExceeded):
		said = sayStartupTimeout()
	case errors.As(err, &said):
	case errors.As(err, &gone):
		s.log.Warn("server closed during startup", zap.Error(gone.err))
		said = sayServerLost()
	}
	s.log.Debug("no session", zap.Error(err))
	if said == nil {
		return
	}
	_ = l.sock.SetDeadline(time.Now().Add(goodbyeTime))
	_ = l.write(said.encode(nil))
	l.closeWrite()
}

// startup returns the session and what the server sent behind its first ReadyForQuery. A nil
// session with a nil error means that a cancel request was served.
func (s *Server) startup(ctx context.Context, l *link, st *startup) (*session, []byte, error) {
	p, err := negotiate(ctx, l, st, s.TLS())
	if err != nil {
		return nil, nil, err
	}
	if p.code() == codeCancel {
		if !s.knows(p) {
			return nil, nil, nil
		}
		if err := s.logins.enter(ctx, st); err != nil {
			return nil, nil, errNotSpoken // nobody reads an answer
		}
		defer s.logins.leave(st)
		s.cancel(ctx, p)
		return nil, nil, nil
	}
	st.asked = true
	params, wellFormed := parseParameters(p)
	if s.cfg.TLSRequired && l.tls == nil && !l.isUnix() {
		return nil, nil, sayTLSRequired()
	}
	sess, err := s.sessions.admit(l, params.replication, s.limits.Load().MaxConnections)
	if err != nil {
		return nil, nil, err
	}
	a := authentication{
		client: l, user: params.user, verifiers: s.verifiers, log: sess.log, refusable: !wellFormed,
		old: p.code()>>16 < protocolMajor,
		loggedIn: func() error {
			s.logins.leave(st)
			s.places.leave(st)
			return s.sessions.count(sess, s.limits.Load().MaxConnections)
		},
	}
	var g *greeting
	var c *connected
	if err = s.logins.enter(ctx, st); err == nil {
		g, c, err = s.connect(ctx, p, a)
		s.logins.leave(st)
	}
	if err != nil {
		sess.abandon()
		return nil, nil, err
	}
	sess.connected(c, g.key, facts{
		rewriter: s.cfg.Rewriter, secret: rand.Text()[:secretLen], user: params.user, database: params.database,
		settings: g.settings, txn: g.txn,
	})
	return sess, g.rest, nil
}

// secretLen is the length of StatementContext.Secret, in letters of 5 bits.
const secretLen = 16

// connect finds a server that takes the session and relays authentication with it, for which a is the beginning.
func (s *Server) connect(ctx context.Context, p startupPacket, a authentication) (*greeting, *connected, error) {
	p, a.asIf = p.asked()
	up, err := s.upstreams.route(ctx)
	if err != nil {
		return nil, nil, s.unfit(err)
	}
	for first := 0; ; {
		c, err := up.dial(ctx, s.pool, first)
		if err != nil && first == 0 && ctx.Err() == nil {
			if again, rerr := s.upstreams.reroute(ctx, up); rerr != nil {
				return nil, nil, s.unfit(rerr)
			} else if again != nil {
				up = again
				c, err = up.dial(ctx, s.pool, first)
			}
		}
		if err != nil {
			if ctx.Err() != nil {
				return nil, nil, fmt.Errorf("connecting to server: %w", ctx.Err())
			}
			s.log.Warn("server cannot be reached", zap.Error(err))
			return nil, nil, sayUnreachable()
		}
		first = c.next
		stop := context.AfterFunc(ctx, c.link.interrupt)
		var g *greeting
		if err = c.link.write(p); err != nil {
			err = &serverGone{err}
		} else {
			a := a
			a.server = c.link
			g, err = a.run(ctx, up.another(first))
		}
		if !stop() && err == nil {
			err = context.Cause(ctx)
		}
		if err == nil {
			return g, c, nil
		}
		c.link.close()
		if !errors.Is(err, errOtherTarget) {
			return nil, nil, err
		}
	}
}

// unfit logs why no server fits, which is not for clients that have not logged in.
func (s *Server) unfit(err error) error {
	var none *noneFits
	if !errors.As(err, &none) {
		return err
	}
	s.log.Warn("no server fits target_session_attrs", zap.Error(none.err))
	return sayNoneFits()
}
