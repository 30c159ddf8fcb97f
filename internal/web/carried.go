package web

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

// carriedRow is what a consumer carries of dead rows: how many lie before its first message, and
// how many of these a consume reads past, which begins at the hint.
type carriedRow struct {
	Queue, Consumer Text
	Dead, Passed    int64 // less than 0: more than could be counted in the time
}

// Bounds of counting dead rows.
const (
	carriedTime  = time.Second // in all
	carriedEach  = 200         // milliseconds, of one consumer
	mostCarried  = 300         // consumers that are looked at
	shownCarried = 50
)

// carried counts the dead rows of each consumer, as far as the time goes; left is how many
// consumers were not looked at.
//
// Nothing in Postgres counts them by queue, for all queues share a table. But to find a consumer's
// first message along the primary key the server fetches each row of its range that died and is
// still there, and EXPLAIN ANALYZE says how many.
func carried(c *call) (rows []carriedRow, left int, err error) {
	type consumer struct {
		ID              int64
		Queue, Consumer Text
		Low             string
	}
	consumers, err := collect[consumer](c, `select k.id, k.qname, k.name, (pg_catalog.to_timestamp(coalesce(pg_catalog.pg_sequence_last_value(('mbus4.hint_' operator(pg_catalog.||) coalesce(k.hint, k.id operator(pg_catalog.%) 128))::regclass), 0) operator(pg_catalog./) 1000000.0))::text
from mbus4.consumer k where k.target is null order by k.id limit $1`, mostCarried+1)
	if err != nil {
		return nil, 0, err
	}
	if err := settle(c.ctx, c.tx); err != nil {
		return nil, 0, fmt.Errorf("asking for dead rows: %w", err)
	}
	begin := time.Now()
	for i, k := range consumers {
		if i == mostCarried || time.Since(begin) > carriedTime || stopped(c.stop) {
			left = len(consumers) - i
			break
		}
		r := carriedRow{Queue: k.Queue, Consumer: k.Consumer}
		if r.Dead, err = passed(c, k.ID, "-infinity"); err != nil {
			return nil, 0, err
		}
		r.Passed = r.Dead
		if r.Dead != 0 {
			if r.Passed, err = passed(c, k.ID, k.Low); err != nil {
				return nil, 0, err
			}
			rows = append(rows, r)
		}
	}
	slices.SortStableFunc(rows, func(a, b carriedRow) int {
		switch {
		case a.Dead < 0 || b.Dead < 0:
			return int(min(a.Dead, 0) - min(b.Dead, 0))
		case a.Dead != b.Dead:
			return int(min(1, max(-1, b.Dead-a.Dead)))
		}
		return 0
	})
	return rows[:min(len(rows), shownCarried)], left, nil
}

// passed is how many dead rows of a consumer's lie between a time and its first message; -1: more
// than can be counted in the time.
func passed(c *call, consumer int64, from string) (int64, error) {
	sp, err := c.tx.Begin(c.ctx)
	if err != nil {
		return 0, fmt.Errorf("counting dead rows: %w", err)
	}
	var plan string
	if _, err = sp.Exec(c.ctx, "select pg_catalog.set_config('statement_timeout', $1, true)", fmt.Sprint(carriedEach)); err == nil {
		err = sp.QueryRow(c.ctx, `explain (analyze, timing off, costs off, format json) select from mbus4.message m
where m.consumer_id operator(pg_catalog.=) $1 and m.available_at operator(pg_catalog.>=) $2::timestamptz order by m.available_at, m.id limit 1`, consumer, from).Scan(&plan)
	}
	if undo := sp.Rollback(c.ctx); undo != nil && !errors.Is(undo, pgx.ErrTxClosed) {
		return 0, fmt.Errorf("counting dead rows: %w", undo)
	}
	var stopped *pgconn.PgError
	switch {
	case errors.As(err, &stopped) && stopped.Code == "57014":
		return -1, nil
	case err != nil:
		return 0, fmt.Errorf("counting dead rows: %w", err)
	}
	return fetchedInVain(plan)
}

// node is one of EXPLAIN's.
type node struct {
	Fetches int64   `json:"Heap Fetches"`
	Rows    float64 `json:"Actual Rows"`
	Plans   []node
}

// fetchedInVain reads from EXPLAIN's JSON how many rows were fetched that nobody sees.
func fetchedInVain(plan string) (int64, error) {
	var all []struct{ Plan node }
	if err := json.Unmarshal([]byte(plan), &all); err != nil || len(all) != 1 {
		return 0, fmt.Errorf("reading a plan: %w", err)
	}
	at := all[0].Plan
	for len(at.Plans) > 0 {
		at = at.Plans[0]
	}
	return max(0, at.Fetches-int64(at.Rows)), nil
}
