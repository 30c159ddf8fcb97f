package engine

import (
	"errors"

	"github.com/jackc/pgx/v5/pgconn"
)

// SQLSTATEs that several rooms of the engine report or look for; one that a room alone knows is declared there.
// https://www.postgresql.org/docs/current/errcodes-appendix.html
const (
	codeInvalidText        = "22P02" // invalid_text_representation
	codeInvalidCatalog     = "3D000" // invalid_catalog_name: there is no such database
	codeNullValue          = "22004" // null_value_not_allowed
	codeLackingRights      = "42501" // insufficient_privilege
	codeUndefinedObject    = "42704"
	codeDuplicateObject    = "42710"
	codeNotInRequiredState = "55000" // object_not_in_prerequisite_state
	codeLockNotAvailable   = "55P03"
)

// Error is a refusal the client gets to see as it is.
type Error struct {
	Code    string // SQLSTATE
	Message string
	Hint    string // the way out; may be empty
	Err     error  // the cause, for the log; may be nil
}

// Error gives message, cause and hint in one line.
func (e *Error) Error() string {
	text := e.Message
	if e.Err != nil {
		text += ": " + e.Err.Error()
	}
	if e.Hint != "" {
		text += " (" + e.Hint + ")"
	}
	return text
}

// Unwrap gives the cause.
func (e *Error) Unwrap() error { return e.Err }

// sqlState is the SQLSTATE the server gave with err, or "".
func sqlState(err error) string {
	var pgErr *pgconn.PgError
	if errors.As(err, &pgErr) {
		return pgErr.Code
	}
	return ""
}

// asError gives err the form a client can be shown, keeping an *Error as it is.
func asError(doing string, err error) *Error {
	var e *Error
	if errors.As(err, &e) {
		return e
	}
	code := sqlState(err)
	if code == "" {
		code = "XX000" // internal_error
	}
	return &Error{Code: code, Message: doing, Err: err}
}
