package housekeeping

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
)

// workHint raises the hint of the work queue, as the hinter does those of consumers:
// mbus4.hint_work says where the first row may be that nobody has claimed yet. All times are in
// microseconds since 1970; 0 stands for no hint.
//
// A fresh row below the hint is hidden. Why none is: it draws its id from mbus4.work_queue_id_seq,
// whose lock its transaction holds to the end, before the clock is read for its next_attempt_at. So
// the floor holds as it does for messages. A row that was claimed is not fresh any more, nor is one
// that was put into the past, and these are claimed without a hint. What is written past all that,
// with an id that was not drawn, is found by the look below.
type workHint struct {
	posters
	known bool // hint is that of the sequence
	hint  int64
}

// The first fresh row from $1 to below $2.
const lowestWorkSQL = `
select (extract(epoch from greatest(w.next_attempt_at, 'epoch')) * 1000000)::bigint
from mbus4.work_queue w
where w.process_id is null and w.fresh
  and w.next_attempt_at >= (select case when $1::bigint = 0 then '-infinity' else timestamptz 'epoch' + $1::bigint * interval '1 microsecond' end)
  and w.next_attempt_at < (select timestamptz 'epoch' + $2::bigint * interval '1 microsecond')
order by w.next_attempt_at, w.id
limit 1`

// renew raises the hint to the first row, or to what is safe. low: it looks below first, and lowers
// the hint where it is wrong.
func (w *workHint) renew(ctx context.Context, conn *pgx.Conn, margin, leastRise time.Duration, low bool) error {
	now, err := w.read(ctx, conn, sequences{any: []string{"mbus4.work_queue_id_seq"}})
	if err != nil {
		return err
	}
	safe := max(w.floor(allClasses)-margin.Microseconds(), 0)
	if low || !w.known || w.hint > now {
		if err := conn.QueryRow(ctx, `select coalesce(pg_catalog.pg_sequence_last_value('mbus4.hint_work'::regclass), 0)`).Scan(&w.hint); err != nil {
			return fmt.Errorf("reading the hint of the work queue: %w", err)
		}
		w.known = true
		to, _, err := lowestWork(ctx, conn, 0, w.hint)
		if err != nil {
			return err
		}
		if w.hint > now { // the clock was set back
			to = min(to, safe)
		}
		if to < w.hint {
			if err := w.set(ctx, conn, to); err != nil {
				return err
			}
		}
	}
	if safe <= w.hint {
		return nil
	}
	to, found, err := lowestWork(ctx, conn, w.hint, safe)
	if err != nil {
		return err
	}
	least := leastRise.Microseconds()
	if found {
		least = 0 // thousands of rows may have been added within a moment
	}
	if to-w.hint > least {
		return w.set(ctx, conn, to)
	}
	return nil
}

// lowestWork gives a time just below the first live fresh row from low to below high; high where there is none.
func lowestWork(ctx context.Context, conn *pgx.Conn, low, high int64) (at int64, found bool, err error) {
	err = conn.QueryRow(ctx, lowestWorkSQL, low, high).Scan(&at)
	switch {
	case errors.Is(err, pgx.ErrNoRows):
		return high, false, nil
	case err != nil:
		return 0, false, fmt.Errorf("looking for the first row of the work queue: %w", err)
	}
	return max(at-hintSlack.Microseconds(), 0), true, nil
}

func (w *workHint) set(ctx context.Context, conn *pgx.Conn, hint int64) error {
	if _, err := conn.Exec(ctx, `select pg_catalog.setval('mbus4.hint_work', $1)`, hint); err != nil {
		return fmt.Errorf("setting the hint of the work queue: %w", err)
	}
	w.hint = hint
	return nil
}
