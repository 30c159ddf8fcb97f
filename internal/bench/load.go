package bench

import (
	"context"
	"errors"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"
)

// post posts messages until the phase ends, each when it is due: tickets are drawn by all posters
// of a phase. With a rate of 0 it posts as fast as it can without more than outstandingAtMost
// outstanding.
func (b *bench) post(all, phase context.Context, conn *pgx.Conn, rate float64, began time.Duration, tickets *atomic.Int64) error {
	pad := strings.Repeat("x", max(0, b.Size-len(`"t"=>"123456789012", "p"=>""`)))
	for {
		due := time.Since(b.recorder.began)
		if rate > 0 {
			due = began + time.Duration(float64(tickets.Add(1)-1)/rate*float64(time.Second))
			if !pause(phase, due-time.Since(b.recorder.began)) {
				return nil
			}
		} else {
			for b.recorder.depth() >= outstandingAtMost {
				if !pause(phase, time.Millisecond) {
					return nil
				}
			}
		}
		if phase.Err() != nil {
			return nil
		}
		// Counted before it is there, so that nobody consumes what is not counted. One that is on
		// its way at the end of the phase is not cut off.
		b.recorder.posted.Add(1)
		_, err := conn.Exec(all, "select mbus4.post($1, $2)", b.queue, `"t"=>"`+strconv.FormatInt(int64(due), 10)+`", "p"=>"`+pad+`"`)
		if err != nil {
			b.recorder.posted.Add(-1)
			return ended(all, err)
		}
	}
}

// consume takes messages, one at a time, and works for each in the transaction that takes it, until ctx ends.
func (b *bench) consume(ctx context.Context, conn *pgx.Conn) error {
	for ctx.Err() == nil {
		tx, err := conn.BeginTx(ctx, pgx.TxOptions{IsoLevel: pgx.ReadCommitted})
		if err != nil {
			return ended(ctx, err)
		}
		var data string
		switch err := tx.QueryRow(ctx, "select data::pg_catalog.text from mbus4.consume($1, wait => '1s')", b.queue).Scan(&data); {
		case errors.Is(err, pgx.ErrNoRows):
		case err != nil:
			return ended(ctx, err)
		default:
			b.recorder.got(dueOf(data))
			if !pause(ctx, b.Work) {
				return nil
			}
		}
		if err := tx.Commit(ctx); err != nil {
			return ended(ctx, err)
		}
	}
	return nil
}

// dueOf finds in a message when it was due.
func dueOf(data string) time.Duration {
	_, rest, _ := strings.Cut(data, `"t"=>"`)
	text, _, _ := strings.Cut(rest, `"`)
	due, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		panic("a message of somebody else's in a queue of the bench's own: " + data)
	}
	return time.Duration(due)
}

// hold keeps a snapshot until ctx ends.
func (b *bench) hold(ctx context.Context, conn *pgx.Conn) error {
	tx, err := conn.BeginTx(ctx, pgx.TxOptions{IsoLevel: pgx.RepeatableRead, AccessMode: pgx.ReadOnly})
	if err == nil {
		_, err = tx.Exec(ctx, b.scan())
	}
	if err != nil {
		return ended(ctx, err)
	}
	<-ctx.Done()
	return nil
}

const (
	scanFor   = 5 * time.Second       // a scanner's transaction
	scanPause = 20 * time.Millisecond // between its scans
	scanRows  = 20000
)

// scan is what those read that hold snapshots.
func (b *bench) scan() string {
	return "select pg_catalog.count(*), pg_catalog.sum(pg_catalog.length(pad)) from " + b.schema + ".scanned"
}

// scanAgain reads in transactions of some seconds, each with a snapshot of its own, until ctx ends.
func (b *bench) scanAgain(ctx context.Context, conn *pgx.Conn) error {
	for ctx.Err() == nil {
		tx, err := conn.BeginTx(ctx, pgx.TxOptions{IsoLevel: pgx.RepeatableRead, AccessMode: pgx.ReadOnly})
		if err != nil {
			return ended(ctx, err)
		}
		for began := time.Now(); time.Since(began) < min(scanFor, b.Duration/2); {
			if _, err := tx.Exec(ctx, b.scan()); err != nil {
				return ended(ctx, err)
			}
			if !pause(ctx, scanPause) {
				return nil
			}
		}
		if err := tx.Commit(ctx); err != nil {
			return ended(ctx, err)
		}
	}
	return nil
}

// ended is err, or nil where ctx has ended and that was the cause.
func ended(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return nil
	}
	return err
}

// pause waits, and tells whether ctx has not ended meanwhile.
func pause(ctx context.Context, d time.Duration) bool {
	if d <= 0 {
		return ctx.Err() == nil
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}
