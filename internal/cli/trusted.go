package cli

import (
	"context"
	"errors"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"mbusproxy/trust"
)

// look runs do in a transaction that only reads, and in which nothing of schema mbus4 is read before it is known whose it is.
func (s *Session) look(ctx context.Context, do func() error) error {
	return transact(ctx, s.conn, true, func(context.Context, pgx.Tx) error { return do() })
}

// lookByCall is look for what the proxy serves, which makes the schema where it is missing.
func (s *Session) lookByCall(ctx context.Context, do func(context.Context, pgx.Tx) error) error {
	if err := serve(ctx, s.conn); err != nil {
		return err
	}
	return transact(ctx, s.conn, true, do)
}

// act runs do in a transaction that is committed unless it fails. The first call in a database makes the schema.
func (s *Session) act(ctx context.Context, do func(context.Context, pgx.Tx) error) error {
	if err := serve(ctx, s.conn); err != nil {
		return err
	}
	return transact(ctx, s.conn, false, do)
}

// transact runs do in a transaction unless the role of the session has no reason to trust somebody to whom something of the
// schema belongs: his code would have its rights. See package trust.
func transact(ctx context.Context, conn *pgx.Conn, reads bool, do func(context.Context, pgx.Tx) error) error {
	begin := trust.BeginWriting
	if reads {
		begin = trust.BeginReading
	}
	tx, err := conn.BeginTx(ctx, pgx.TxOptions{BeginQuery: begin})
	if err != nil {
		return told(err)
	}
	answer, err := trust.Scan(tx.QueryRow(ctx, trust.ForPerson("")))
	if err == nil {
		if refused := answer.Check(reads); refused != nil {
			err = refused
		} else {
			err = do(ctx, tx)
		}
	}
	if err != nil || reads {
		_ = tx.Rollback(context.WithoutCancel(ctx)) // Close does it otherwise
		return told(err)
	}
	return told(tx.Commit(ctx))
}

// serve has the proxy make the schema where there is none, and returns an error where something is not to be trusted. It
// sends a call that is parsed, and never executed: whoever makes a schema of his own meanwhile, or reads it in the place of
// the proxy, has nothing run by that.
func serve(ctx context.Context, conn *pgx.Conn) error {
	err := transact(ctx, conn, true, func(context.Context, pgx.Tx) error { return nil })
	var e *Error
	if !errors.As(err, &e) || e.SQLState != trust.Absent {
		return err
	}
	if _, err := conn.PgConn().Prepare(ctx, "", "select mbus4.is_msg_exists(''::pg_catalog.text)", nil); err != nil {
		return told(err)
	}
	return transact(ctx, conn, true, func(context.Context, pgx.Tx) error { return nil })
}

// refusal tells why a session does not go on.
func refusal(e *trust.Error) error {
	told := &Error{Message: said(&pgconn.PgError{Code: e.Code, Message: e.Message}), SQLState: e.Code, Hint: e.Hint, Err: e}
	if e.Code == trust.Absent {
		told.Hint = throughTheProxy + ", and the first call there of a function of mbus4 makes the schema, as `mbusproxy init` does"
	}
	return told
}
