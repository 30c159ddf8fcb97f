package engine

import (
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5/pgconn"
)

// SQLSTATEs the engine itself reports.
// https://www.postgresql.org/docs/current/errcodes-appendix.html
const (
	codeCannotConnect       = "08001" // sqlclient_unable_to_establish_sqlconnection
	codeInvalidCatalog      = "3D000"
	codeInvalidSchema       = "3F000"
	codeLackingRights       = "42501" // insufficient_privilege
	codeDuplicateObject     = "42710"
	codeDuplicateSchema     = "42P06"
	codeDuplicateTable      = "42P07"
	codeUniqueViolation     = "23505"
	codeForeignKey          = "23503" // foreign_key_violation
	codeUndefinedTable      = "42P01"
	codeUndefinedObject     = "42704"
	codeNotInRequiredState  = "55000" // object_not_in_prerequisite_state
	codeLockNotAvailable    = "55P03"
	codeShuttingDown        = "57P01" // admin_shutdown
	codeUndefinedFile       = "58P01" // an extension's control file, up to Postgres 15
	codeFeatureNotSupported = "0A000" // the same, from Postgres 16 on
	codeNullValue           = "22004" // null_value_not_allowed
	codeInvalidName         = "42602"
	codeOutOfRange          = "22003" // numeric_value_out_of_range
	codeInvalidText         = "22P02" // invalid_text_representation
	codeProgramLimit        = "54000" // program_limit_exceeded
	codeInvalidDSN          = "22023" // invalid_parameter_value
	codeInvalidParameter    = "22023" // invalid_parameter_value
	codeInternal            = "XX000"
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

// connectError explains why there is no connection of the engine's own to a database.
func connectError(database string, err error) *Error {
	switch code := sqlState(err); code {
	case "":
		return &Error{
			Code:    codeCannotConnect,
			Message: fmt.Sprintf("mbusproxy cannot reach database %q with its admin connection", database),
			Hint:    "Check that the server runs and that host, port and sslmode of --admin are right.",
			Err:     err,
		}
	case codeInvalidCatalog:
		return &Error{Code: code, Message: fmt.Sprintf("database %q does not exist", database), Err: err}
	case "28000", "28P01": // invalid_authorization_specification, invalid_password
		return &Error{
			Code:    code,
			Message: fmt.Sprintf("the server refuses mbusproxy's admin role in database %q", database),
			Hint:    "Check user and password of --admin, and that pg_hba.conf admits this role to the database.",
			Err:     err,
		}
	default:
		return &Error{
			Code:    code,
			Message: fmt.Sprintf("mbusproxy cannot use database %q with its admin connection", database),
			Err:     err,
		}
	}
}

// asError gives err the form a client can be shown, keeping an *Error as it is.
func asError(doing string, err error) *Error {
	var e *Error
	if errors.As(err, &e) {
		return e
	}
	code := sqlState(err)
	if code == "" {
		code = codeInternal
	}
	return &Error{Code: code, Message: doing, Err: err}
}
