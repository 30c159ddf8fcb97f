package proxy

import (
	"context"

	"mbusproxy/proxy/relay"
	"mbusproxy/proxy/startup"
	"mbusproxy/proxy/wire"
)

// loginAttempt is a client's way through authentication: it has a place among those that log in while the client is awaited,
// one among those that the server keeps waiting while that lasts, and one among the sessions from AuthenticationOk on.
type loginAttempt struct {
	server  *Server
	client  *startup.Client
	session *relay.Session // nil: it takes no session's place
	limit   int            // of sessions; 0: there is none
	held    bool           // by the server
}

// enter waits for the client's turn. Nothing is done for one that has hung up meanwhile.
func (l *loginAttempt) enter(ctx context.Context) error {
	if err := l.server.logins.Enter(ctx, l.client); err != nil {
		return err
	}
	if l.client.Gone() {
		l.server.logins.Forgive(l.client)
		l.left()
		return wire.ErrNotSpoken // nobody reads an answer
	}
	return nil
}

// overdue: the server takes long for its answer.
func (l *loginAttempt) overdue() {
	if l.held {
		return
	}
	free := l.limit - l.server.sessions.Census().LoggedIn // none where there is no limit
	if l.held = l.server.held.Enter(l.client, free); l.held {
		l.server.logins.Leave(l.client)
	}
}

// asked: the server asks the client for something, for whom the others wait from now on. Until it has its turn again it is
// among those that are held, for it has a connection to the server all the while.
func (l *loginAttempt) asked(ctx context.Context) error {
	if !l.held {
		return nil
	}
	err := l.server.logins.Enter(ctx, l.client)
	l.held = false
	l.server.held.Leave(l.client)
	return err
}

// succeeded: the server has let the client in. The session gets its place, if there is one.
func (l *loginAttempt) succeeded() error {
	l.server.logins.CameThrough(l.client)
	l.server.places.Leave(l.client)
	l.left()
	if l.session == nil {
		return nil
	}
	return l.server.sessions.Count(l.session, l.limit)
}

// left gives all places back but that of a session.
func (l *loginAttempt) left() {
	l.server.logins.Leave(l.client)
	l.server.held.Leave(l.client)
}
