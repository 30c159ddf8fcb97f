package refusal

import (
	"errors"

	"github.com/jackc/pgx/v5/pgconn"
)

// SQLSTATEs that several rooms of the engine report or look for; one that a room alone knows is declared there.
// https://www.postgresql.org/docs/current/errcodes-appendix.html
const (
	NotInRepertoire    = "22021" // character_not_in_repertoire: bytes that are no text of the encoding
	Untranslatable     = "22P05" // untranslatable_character: what the other encoding does not have
	InvalidText        = "22P02" // invalid_text_representation
	InvalidCatalog     = "3D000" // invalid_catalog_name: there is no such database
	NullValue          = "22004" // null_value_not_allowed
	LackingRights      = "42501" // insufficient_privilege
	UndefinedObject    = "42704"
	DuplicateObject    = "42710"
	NotInRequiredState = "55000" // object_not_in_prerequisite_state
	LockNotAvailable   = "55P03"
	DeadlockDetected   = "40P01"
	QueryCanceled      = "57014" // also of a statement that was longer under way than its statement_timeout
	CannotConnectNow   = "57P03" // cannot_connect_now: of a call in a database that the engine gets no connection to
	AdminShutdown      = "57P01" // of a call after the engine was closed; and of a session that the server ends, as when its database is dropped
)

// Error is a refusal that a client gets to see as it is.
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

// SQLState is the SQLSTATE the server gave with err, or "".
func SQLState(err error) string {
	var pgErr *pgconn.PgError
	if errors.As(err, &pgErr) {
		return pgErr.Code
	}
	return ""
}

// Wrap gives err the form a client can be shown, keeping a *refusal.Error as it is.
func Wrap(doing string, err error) *Error {
	var e *Error
	if errors.As(err, &e) {
		return e
	}
	code := SQLState(err)
	if code == "" {
		code = "XX000" // internal_error
	}
	return &Error{Code: code, Message: doing, Err: err}
}
