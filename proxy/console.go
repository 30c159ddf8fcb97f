package proxy

import (
	"context"
	"io"

	"mbusproxy/proxy/endpoint"
	"mbusproxy/proxy/upstream"
)

// Console serves those who log in to a database that is none of the server's. It is safe for concurrent use.
type Console interface {
	// Login returns, for the name of a database that is a console, the database in which the server is to check who logs in. It may take its
	// time; ctx ends with the startup.
	Login(ctx context.Context, database string) (instead string, ok bool)
	// Serve talks to a client that has logged in, from its first message on, until it leaves, the connection breaks or ctx ends, which closes both
	// connections. server is its session at the server, which is idle.
	Serve(ctx context.Context, client, server io.ReadWriter, user, database string)
}

// consoleLogin is a client that has logged in to a Console.
type consoleLogin struct {
	server         *upstream.Connection
	user, database string
}

// serveConsole runs in the place of a session, in the goroutine of its startup.
func (s *Server) serveConsole(l *endpoint.Endpoint, login *consoleLogin) {
	ctx, cancel := context.WithCancel(s.startupContext()) // which Shutdown ends
	defer cancel()
	defer context.AfterFunc(ctx, func() {
		l.Close()
		login.server.Endpoint.Close()
	})()
	defer login.server.Endpoint.Close()
	s.cfg.Console.Serve(ctx, l.Conn, login.server.Endpoint.Conn, login.user, login.database)
}
