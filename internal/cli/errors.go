package cli

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/jackc/pgx/v5/pgconn"

	"mbusproxy/trust"
)

// Error is a failure that is told in one sentence with a hint.
type Error struct {
	Message  string // lower case, no full stop; with the SQLSTATE in front where the server gave one
	SQLState string // "" where it is not the server's
	Hint     string // what to do about it; may be empty
	Err      error  // the cause; may be nil
}

func (e *Error) Error() string { return e.Message }

func (e *Error) Unwrap() error { return e.Err }

// ErrNothing is returned when there was nothing to consume, or no such message: nothing failed, and
// nothing was written but an empty result.
var ErrNothing = errors.New("there is nothing")

// throughTheProxy is the hint where the server itself was asked.
const throughTheProxy = "these commands go through the proxy: --dsn or PGHOST and PGPORT name where `mbusproxy serve` listens"

// Told makes an Error of what the server said.
func Told(err error) error { return told(err) }

func told(err error) error {
	var (
		server *pgconn.PgError
		known  *Error
		whose  *trust.Error
	)
	switch {
	case err == nil, errors.As(err, &known), errors.Is(err, context.Canceled), errors.Is(err, ErrNothing):
		return err
	case errors.As(err, &whose):
		return refusal(whose)
	case !errors.As(err, &server):
		return err
	}
	e := &Error{Message: said(server), SQLState: server.Code, Hint: server.Hint, Err: err}
	switch {
	case server.Routine == "ParseFuncOrColumn" && strings.Contains(server.Message, "mbus4."): // the server itself was asked, which has no such function
		e.Hint = throughTheProxy
	case e.Hint != "":
	case server.Code == "3F000" || server.Code == "42P01":
		e.Hint = throughTheProxy
	case server.Code == "42501":
		e.Hint = "looking and consuming takes membership in the role mbus4_user: docs/rights.md"
	case server.Detail != "":
		e.Hint = server.Detail
	}
	return e
}

// said is the server's error, or the proxy's, in one sentence.
func said(e *pgconn.PgError) string { return e.Code + ": " + e.Message }

// connectError says why there is no connection.
func connectError(err error) error {
	var (
		parse  *pgconn.ParseConfigError
		server *pgconn.PgError
		tried  *pgconn.ConnectError
	)
	switch {
	case errors.Is(err, context.Canceled):
		return err
	case errors.As(err, &parse):
		return &Error{Message: fmt.Sprintf("the DSN cannot be used: %v", parse.Unwrap()), Hint: "--dsn takes `host=… port=… user=… dbname=…` or postgresql://…, as psql does", Err: err}
	case errors.As(err, &server):
		return told(err)
	case errors.As(err, &tried) && tried.Unwrap() != nil:
		return &Error{Message: "cannot connect: " + once(tried.Unwrap().Error()), Hint: throughTheProxy, Err: err}
	}
	return &Error{Message: fmt.Sprintf("cannot connect: %v", err), Hint: throughTheProxy, Err: err}
}

// once leaves out lines that come again: each address is tried with TLS and without.
func once(lines string) string {
	return strings.Join(slices.Compact(strings.Split(lines, "\n")), "; ")
}
