package proxy

import (
	"context"
	"io"
	"time"

	"mbusproxy/proxy/endpoint"
	"mbusproxy/proxy/fatal"
	"mbusproxy/proxy/upstream"
)

// Console serves those who log in to a database that is none of the server's. It is safe for concurrent use.
type Console interface {
	// Login returns, for the name of a database that is a console, the database in which the server
	// is to check who logs in. It may take its time; ctx ends with the startup.
	Login(ctx context.Context, database string) (instead string, ok bool)
	// Serve talks to a client that has logged in, from its first message on, until it leaves, the
	// connection breaks or ctx ends, which end does as well. server is its session at the server, which
	// is idle. When ctx ends, nothing can be read any more; what is under way may be answered within
	// endpoint.GoodbyeTime. Once Serve has returned, the client is told why it loses the connection, if
	// that is because the proxy ends.
	Serve(ctx context.Context, end func(), client, server io.ReadWriter, user, database string)
}

// consoleLogin is a client that has logged in to a Console.
type consoleLogin struct {
	server         *upstream.Connection
	user, database string
}

// serveConsole runs in the place of a session, in the goroutine of its startup.
func (s *Server) serveConsole(l *endpoint.Endpoint, login *consoleLogin) {
	s.starting.Add(-1) // it has logged in
	s.consoles.Add(1)
	defer func() {
		s.consoles.Add(-1)
		s.starting.Add(1)
	}()
	ending := s.startupContext() // which Shutdown ends
	ctx, cancel := context.WithCancel(ending)
	defer cancel()
	stop := context.AfterFunc(ctx, func() {
		login.server.Endpoint.Interrupt()
		_ = l.Socket.SetReadDeadline(time.Unix(1, 0))
		_ = l.Socket.SetWriteDeadline(time.Now().Add(endpoint.GoodbyeTime))
	})
	defer login.server.Endpoint.Close()
	s.cfg.Console.Serve(ctx, cancel, l.Conn, login.server.Endpoint.Conn, login.user, login.database)
	stop()
	login.server.Endpoint.Close() // at once, whether the client leaves or not
	if ctx.Err() != nil {         // and not whether stop came in time: Serve may have been faster
		if ending.Err() != nil {
			_ = l.Socket.SetWriteDeadline(time.Now().Add(endpoint.GoodbyeTime))
			_ = l.Write(fatal.Shutdown().Encode(nil))
		}
		l.CloseWrite()
		return
	}
	// A client that is sending its first command gets an error for that if the connection is closed,
	// and not what it has been told. So it is given time to read this and to leave.
	l.CloseWrite()
	_ = l.Socket.SetReadDeadline(time.Now().Add(endpoint.GoodbyeTime))
	_, _ = io.Copy(io.Discard, l.Conn)
}
