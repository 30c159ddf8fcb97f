package bulk

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

const (
	// BatchSize is how many messages a batch deals with, unless Options say otherwise.
	BatchSize = 500

	attemptsOfBatch = 5                // of one that others stand in the way of
	batchTimeout    = 30 * time.Second // what the server takes for one at most; it is made to take a second
	batchLockWait   = 5 * time.Second
	checkInterval   = 10 * time.Minute // a selector's row that nobody uses is removed after an hour
	farewell        = 5 * time.Second  // to say why a run ends
)

// Options say how an operation is run. The zero value is right.
type Options struct {
	Batch int // messages, at most 5000; 0: BatchSize
	// Progress is called after each batch, by Run itself: what it takes, Run waits for.
	Progress func(Operation)
}

// Transact runs f in a transaction of a session of the role's, and commits it unless f fails. The
// session is the same each time.
type Transact func(ctx context.Context, f func(ctx context.Context, tx pgx.Tx) error) error

// In gives the transactions of a connection, in which none is open.
func In(conn *pgx.Conn) Transact {
	return func(ctx context.Context, f func(ctx context.Context, tx pgx.Tx) error) error {
		return pgx.BeginFunc(ctx, conn, func(tx pgx.Tx) error { return f(ctx, tx) })
	}
}

// Run runs an operation of the session's role to its end, in batches. It returns when the operation
// has ended or is paused, with how it stands then; when the context or the session ends, and the
// operation is then interrupted; and with the server's error where that refuses a batch, and the
// operation is then paused. Between two batches others may use the session. Where another session
// runs the operation the error is that of the server, SQLSTATE 55006.
func Run(ctx context.Context, do Transact, id int64, how Options) (o Operation, err error) {
	if how.Batch <= 0 {
		how.Batch = BatchSize
	}
	var checked time.Time
	failed := 0
	for {
		now, err := batch(ctx, do, id, how.Batch, time.Since(checked) > checkInterval)
		if err != nil {
			code := SQLState(err)
			if isPassing(code) && failed < attemptsOfBatch && ctx.Err() == nil {
				failed++
				continue
			}
			switch {
			case ctx.Err() != nil || code == "" || errors.Is(err, pgx.ErrNoRows):
				leave(ctx, do, id, "")
			case code != "55006": // another session runs it
				leave(ctx, do, id, err.Error())
			}
			return o, fmt.Errorf("running operation %d: %w", id, err)
		}
		if failed, o = 0, now; time.Since(checked) > checkInterval {
			checked = time.Now()
		}
		if how.Progress != nil {
			how.Progress(o)
		}
		if o.State != Running {
			return o, nil
		}
	}
}

// batch runs one batch, and has the selector checked before it where check is set.
func batch(ctx context.Context, do Transact, id int64, amount int, check bool) (o Operation, err error) {
	err = do(ctx, func(ctx context.Context, tx pgx.Tx) error {
		// The proxy makes what a selector needs on a connection of its own, and what comes behind sees it.
		_, err := tx.Exec(ctx, `set transaction isolation level read committed, read write`)
		if err != nil {
			return err
		}
		_, err = tx.Exec(ctx, `select pg_catalog.set_config('statement_timeout', $1, true), pg_catalog.set_config('lock_timeout', $2, true)`,
			fmt.Sprint(batchTimeout.Milliseconds()), fmt.Sprint(batchLockWait.Milliseconds()))
		if err != nil {
			return err
		}
		if check {
			if o, err = Find(ctx, tx, id); err != nil {
				return err
			}
			if err := Check(ctx, tx, o.Selection.Selector); err != nil {
				return err
			}
		}
		if _, err = tx.Exec(ctx, settings); err != nil {
			return err
		}
		if err = runBatch(ctx, tx, id, amount); err != nil {
			return err
		}
		o, err = Find(ctx, tx, id)
		return err
	})
	return o, err
}

// leave gives up an operation: why says what the server did not like, and the operation is then
// paused; "": it is interrupted. Where the session has ended there is nothing to say: nobody runs
// it any more.
func leave(ctx context.Context, do Transact, id int64, why string) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), farewell)
	defer cancel()
	_ = do(ctx, func(ctx context.Context, tx pgx.Tx) error {
		if why == "" {
			return abandon(ctx, tx, id)
		}
		return set(ctx, tx, id, Paused, why)
	})
}

// isPassing reports whether an SQLSTATE is of something that passes: what others do at the same time.
func isPassing(code string) bool {
	switch code {
	case "40001", "40P01", "55P03": // serialization_failure, deadlock_detected, lock_not_available
		return true
	}
	return false
}

// SQLState is the SQLSTATE of the server's error, "" for all others.
func SQLState(err error) string {
	var e *pgconn.PgError
	if errors.As(err, &e) {
		return e.Code
	}
	return ""
}
