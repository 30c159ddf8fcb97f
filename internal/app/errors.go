package app

import (
	"errors"
	"fmt"
	"syscall"

	"github.com/jackc/pgx/v5/pgconn"

	"mbusproxy/engine"
)

// Error is a failure at the start or at the end, told in one sentence, fit for showing to a person.
type Error struct {
	Message string // lower case, no full stop
	Hint    string // what to do about it; may be empty
	Err     error  // the cause; may be nil
}

func (e *Error) Error() string { return e.Message }

func (e *Error) Unwrap() error { return e.Err }

// told makes an Error of one of the engine, with its cause in brief; other errors stay.
func told(err error) error {
	var e *engine.Error
	if !errors.As(err, &e) {
		return err
	}
	message := e.Message
	var (
		server  *pgconn.PgError
		connect *pgconn.ConnectError
	)
	switch {
	case errors.As(e.Err, &server):
		message += ": " + server.Message
	case errors.As(e.Err, &connect) && connect.Unwrap() != nil:
		message += ": " + connect.Unwrap().Error()
	case e.Err != nil:
		message += ": " + e.Err.Error()
	}
	return &Error{Message: message, Hint: e.Hint, Err: err}
}

// listenError explains why an address cannot be listened on.
func listenError(err error) error {
	e := &Error{Message: fmt.Sprintf("cannot listen: %v", err), Err: err}
	switch {
	case errors.Is(err, syscall.EADDRINUSE):
		e.Hint = "another program has this port: choose another with --listen, or stop that program (`ss -ltnp` shows which)"
	case errors.Is(err, syscall.EACCES):
		e.Hint = "ports below 1024 and closed folders need more rights: choose another with --listen"
	default:
		e.Hint = "--listen takes host:port of this machine, or the directory of a unix socket"
	}
	return e
}
