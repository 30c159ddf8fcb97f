package told

import (
	"errors"

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

// Of makes an Error of one of the engine, with its cause in brief; other errors stay.
func Of(err error) error {
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
