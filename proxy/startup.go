package proxy

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"

	"go.uber.org/zap"
)

// serve takes an accepted connection through startup; the session then runs on its own.
func (s *Server) serve(conn net.Conn) {
	l, err := newLink(conn, s.pool)
	if err != nil {
		_ = conn.Close()
		s.log.Error("connection dropped", zap.Error(err))
		return
	}
	started := false
	defer func() {
		if !started {
			l.close()
		}
	}()
	ctx, cancel := context.WithTimeout(s.startupContext(), s.limits.Load().StartupTimeout)
	defer cancel()
	stop := context.AfterFunc(ctx, l.interrupt)
	sess, rest, err := s.startup(ctx, l)
	// From here on the deadline must not strike: it would interrupt a running session.
	struck := !stop()
	if err == nil && sess == nil { // a cancel request
		return
	}
	var life context.Context
	if err == nil {
		life, sess.cancel = context.WithCancel(context.Background())
	}
	if err == nil && (struck || !s.launch(sess)) {
		sess.cancel()
		sess.serverLink.close()
		s.forget(sess)
		err = context.Canceled
	}
	if err != nil {
		s.refuse(ctx, l, err)
		return
	}
	started = true
	sess.start(life, rest)
}

// refuse tells the client why there is no session, where that can be told.
func (s *Server) refuse(ctx context.Context, l *link, err error) {
	var said *fatal
	var gone *serverGone
	switch {
	case errors.Is(err, errNotSpoken), errors.Is(err, errRefused):
	case errors.Is(ctx.Err(), context.Canceled), errors.Is(err, context.Canceled):
		said = sayShutdown()
	case ctx.Err() != nil || errors.Is(err, os.ErrDeadlineExceeded):
		said = sayStartupTimeout()
	case errors.As(err, &said):
	case errors.As(err, &gone):
		said = sayServerLost(gone.err)
	}
	s.log.Debug("no session", zap.Error(err))
	if said == nil {
		return
	}
	_ = l.sock.SetDeadline(soon())
	_ = l.write(said.encode(nil))
	l.closeWrite()
}

// startup returns the session and what the server sent behind its first ReadyForQuery. A nil
// session with a nil error means that a cancel request was served.
func (s *Server) startup(ctx context.Context, l *link) (*session, []byte, error) {
	p, err := s.negotiate(ctx, l)
	if err != nil {
		return nil, nil, err
	}
	if p.code() == codeCancel {
		s.cancel(ctx, p)
		return nil, nil, nil
	}
	if p.code()>>16 != protocolMajor {
		return nil, nil, sayUnsupportedProtocol(p.code())
	}
	params, err := parseParameters(p)
	if err != nil {
		return nil, nil, err
	}
	if s.cfg.TLSRequired && l.tls == nil && !l.isUnix() {
		return nil, nil, sayTLSRequired()
	}
	sess := &session{server: s, clientLink: l, plain: params.replication}
	if err := s.admit(sess); err != nil {
		return nil, nil, err
	}
	sess.log = s.log.With(zap.Uint64("session", sess.id))
	g, at, err := s.connect(ctx, sess, p, params.user)
	if err != nil {
		s.forget(sess)
		return nil, nil, err
	}
	sess.up = clientFlow{
		rewriter: s.cfg.Rewriter, user: params.user, database: params.database, settings: &sess.settings,
	}
	sess.down = serverFlow{rewriter: s.cfg.Rewriter, settings: &sess.settings}
	sess.down.txn = g.txn
	sess.settings.Store(&g.settings)
	if len(g.key) > 0 {
		if s.cancels.add(g.key, at) {
			sess.key = g.key
		} else {
			sess.log.Warn("two servers use the same cancel key; it stays with the older session")
		}
	}
	return sess, g.rest, nil
}

// connect finds a server that takes the session and relays authentication with it.
func (s *Server) connect(ctx context.Context, sess *session, p startupPacket, user string) (*greeting, target, error) {
	up, err := s.upstreams.route(ctx)
	if err != nil {
		return nil, target{}, err
	}
	for first := 0; ; {
		c, err := up.dial(ctx, s.pool, first)
		if err != nil && first == 0 && ctx.Err() == nil {
			if again, rerr := s.upstreams.reroute(ctx, up); rerr != nil {
				return nil, target{}, rerr
			} else if again != nil {
				up = again
				c, err = up.dial(ctx, s.pool, first)
			}
		}
		if err != nil {
			if ctx.Err() != nil {
				return nil, target{}, fmt.Errorf("connecting to server: %w", ctx.Err())
			}
			s.log.Warn("server cannot be reached", zap.Error(err))
			return nil, target{}, sayUnreachable(err)
		}
		first = c.next
		sess.serverLink = c.link
		stop := context.AfterFunc(ctx, c.link.interrupt)
		var g *greeting
		if err = c.link.write(p); err != nil {
			err = &serverGone{err}
		} else {
			a := authentication{client: sess.clientLink, server: c.link, user: user, verifiers: s.verifiers, log: sess.log}
			g, err = a.run(ctx, up.another(first))
		}
		if !stop() && err == nil {
			err = context.Cause(ctx)
		}
		if err == nil {
			return g, c.at, nil
		}
		c.link.close()
		if !errors.Is(err, errOtherTarget) {
			return nil, target{}, err
		}
	}
}
