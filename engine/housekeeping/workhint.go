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
// the floor holds as it does for messages. A row that was claimed is not fresh any more, and such rows
// are claimed without a hint. So a row that somebody has put below the hint, with a time of its own or by
// releasing what was claimed by hand, is made one that is not fresh by a look below the hint.
type workHint struct {
	posters
	known bool // hint is that of the sequence
	hint  int64
	low   time.Time // when to look below the hint
}

// workLowInterval is between two looks below the hint: so long may a row that was put there wait.
const workLowInterval = time.Second

// The first fresh row from $1 to below $2.
const lowestWorkSQL = `
select (extract(epoch from greatest(w.next_attempt_at, 'epoch')) * 1000000)::bigint
from mbus4.work_queue w
where w.process_id is null and w.fresh
  and w.next_attempt_at >= (select case when $1::bigint = 0 then '-infinity' else timestamptz 'epoch' + $1::bigint * interval '1 microsecond' end)
  and w.next_attempt_at < (select timestamptz 'epoch' + $2::bigint * interval '1 microsecond')
order by w.next_attempt_at, w.id
limit 1`

// The fresh rows below $1, a thousand at most, are fresh no more.
const unhideWorkSQL = `
update mbus4.work_queue w
set fresh = false
where w.ctid = any(array(
	select h.ctid
	from mbus4.work_queue h
	where h.process_id is null and h.fresh and h.next_attempt_at < (select timestamptz 'epoch' + $1::bigint * interval '1 microsecond')
	order by h.next_attempt_at, h.id
	limit 1000
	for update skip locked))`

// renew raises the hint to the first row, or to what is safe. Where the hint may be wrong it looks below first.
func (w *workHint) renew(ctx context.Context, conn *pgx.Conn, margin, leastRise time.Duration) error {
	now, err := w.read(ctx, conn, sequences{any: []string{"mbus4.work_queue_id_seq"}})
	if err != nil {
		return err
	}
	safe := max(w.floor(allClasses)-margin.Microseconds(), 0)
	if began := time.Now(); !w.known || w.hint > now || !began.Before(w.low) {
		if err := w.lookBelow(ctx, conn, now, safe); err != nil {
			return err
		}
		w.low = time.Now().Add(max(workLowInterval, dutyFactor*time.Since(began)))
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

// lookBelow reads the hint, takes it back if the clock was set back, and makes what is hidden below it visible.
func (w *workHint) lookBelow(ctx context.Context, conn *pgx.Conn, now, safe int64) error {
	if err := conn.QueryRow(ctx, `select coalesce(pg_catalog.pg_sequence_last_value('mbus4.hint_work'::regclass), 0)`).Scan(&w.hint); err != nil {
		return fmt.Errorf("reading the hint of the work queue: %w", err)
	}
	w.known = true
	if w.hint > now && safe < w.hint {
		return w.set(ctx, conn, safe)
	}
	if _, err := conn.Exec(ctx, unhideWorkSQL, w.hint); err != nil {
		return fmt.Errorf("looking for hidden rows of the work queue: %w", err)
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
