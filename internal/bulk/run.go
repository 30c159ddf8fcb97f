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

// Run runs an operation of the session's role to its end, in batches. It returns when the operation has ended or is paused, with how it stands then; when the context ends,
// and the operation is then interrupted; and with the server's error where that refuses a batch, and the operation is then paused. The session is Run's
// own until it returns; no transaction may be open in it. Where another session runs the operation the error is that of the server, SQLSTATE 55006.
func Run(ctx context.Context, conn *pgx.Conn, id int64, how Options) (Operation, error) {
	o, err := Find(ctx, conn, id)
	if err != nil {
		return o, err
	}
	if how.Batch <= 0 {
		how.Batch = BatchSize
	}
	var checked time.Time
	failed := 0
	for {
		if time.Since(checked) > checkInterval {
			err = Check(ctx, conn, o.Selection.Selector)
			checked = time.Now()
		}
		if err == nil {
			err = batch(ctx, conn, id, how.Batch)
		}
		switch {
		case err == nil:
			failed = 0
		case ctx.Err() != nil || conn.IsClosed():
			leave(ctx, conn, id, "")
			return o, fmt.Errorf("running operation %d: %w", id, err)
		case isPassing(err) && failed < attemptsOfBatch:
			failed++
			err = nil
			continue
		case SQLState(err) == "55006": // another session runs it
			return o, fmt.Errorf("running operation %d: %w", id, err)
		default:
			leave(ctx, conn, id, err.Error())
			return o, fmt.Errorf("running operation %d: %w", id, err)
		}
		now, err := Find(ctx, conn, id)
		if err != nil {
			leave(ctx, conn, id, "")
			return o, err
		}
		o = now
		if how.Progress != nil {
			how.Progress(o)
		}
		if o.State != Running {
			return o, nil
		}
	}
}

// batch runs one batch.
func batch(ctx context.Context, conn *pgx.Conn, id int64, amount int) error {
	return pgx.BeginTxFunc(ctx, conn, pgx.TxOptions{IsoLevel: pgx.ReadCommitted, AccessMode: pgx.ReadWrite}, func(tx pgx.Tx) error {
		_, err := tx.Exec(ctx, `select pg_catalog.set_config('statement_timeout', $1, true), pg_catalog.set_config('lock_timeout', $2, true)`,
			fmt.Sprint(batchTimeout.Milliseconds()), fmt.Sprint(batchLockWait.Milliseconds()))
		if err != nil {
			return err
		}
		_, err = tx.Exec(ctx, `select r.id from mbus4.operation_run($1, $2) r`, id, amount)
		return err
	})
}

// leave gives up an operation: why says what the server did not like, and the operation is then paused; "": it is interrupted. Where the session
// has ended there is nothing to say: nobody runs it any more.
func leave(ctx context.Context, conn *pgx.Conn, id int64, why string) {
	if conn.IsClosed() {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), farewell)
	defer cancel()
	if why == "" {
		_ = set(ctx, conn, id, "interrupted", "")
		return
	}
	_ = set(ctx, conn, id, Paused, why)
}

// isPassing reports whether a batch failed of something that passes: what others do at the same time.
func isPassing(err error) bool {
	switch SQLState(err) {
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
