package housekeeping

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"
)

// posters is what the last reading of who holds the lock on a sequence gave: rows of those transactions may not be visible yet. It
// remains correct, only lower than need be, while another hinter leads. Times are in microseconds since 1970.
type posters struct {
	readAt  int64            // the server's clock when it was made, 0: never
	floor   int64            // no row that is not visible yet is older; nor will one come that is
	holders map[string]int64 // by virtual transaction: nothing of theirs is older
}

// holdersSQL reads who holds the lock on the sequence $1. statement_timestamp() is when this statement arrived: before the locks are read.
const holdersSQL = `
select (extract(epoch from statement_timestamp()) * 1000000)::bigint, coalesce(l.pid, 0), coalesce(l.virtualtransaction, '')
from (select) one
left join pg_catalog.pg_locks l
       on l.locktype = 'relation'
      and l.database = (select oid from pg_catalog.pg_database where datname = current_database())
      and l.relation = $1::text::regclass
      and l.mode = 'RowExclusiveLock'
      and l.granted
      and l.pid is distinct from pg_catalog.pg_backend_pid()`

// Null where the role may not see it, or track_activities is off.
const beginsSQL = `
select pid, (extract(epoch from xact_start) * 1000000)::bigint
from pg_catalog.pg_stat_activity
where pid = any ($1) and xact_start is not null`

// read brings what is known of the transactions that draw ids from a sequence up to date and gives the server's time.
func (p *posters) read(ctx context.Context, conn *pgx.Conn, sequence string) (now int64, err error) {
	type holder struct {
		pid         int32 // 0: a prepared transaction
		transaction string
	}
	var held []holder
	var one holder
	rows, err := conn.Query(ctx, holdersSQL, sequence)
	if err == nil {
		_, err = pgx.ForEachRow(rows, []any{&now, &one.pid, &one.transaction}, func() error {
			if one.transaction != "" {
				held = append(held, one)
			}
			return nil
		})
	}
	if err != nil {
		return 0, fmt.Errorf("reading who posts: %w", err)
	}
	var begins map[int32]int64
	if now-p.readAt > (4 * tickInterval).Microseconds() { // the last reading says too little
		var pids []int32
		for _, one := range held {
			pids = append(pids, one.pid)
		}
		if begins, err = readBegins(ctx, conn, pids); err != nil {
			return 0, err
		}
	}
	floor, holders := now, make(map[string]int64, len(held))
	for _, one := range held {
		since, known := p.holders[one.transaction]
		switch {
		case known:
		case one.pid == 0:
			since = p.floor // PREPARE gave it a new virtual transaction, so it may have posted before the last reading
		default:
			since = max(p.readAt, begins[one.pid])
		}
		since = min(since, now) // the clock may have been set back
		holders[one.transaction] = since
		floor = min(floor, since)
	}
	p.readAt, p.floor, p.holders = now, floor, holders
	return now, nil
}

func readBegins(ctx context.Context, conn *pgx.Conn, pids []int32) (map[int32]int64, error) {
	begins := make(map[int32]int64, len(pids))
	var pid int32
	var begin int64
	rows, err := conn.Query(ctx, beginsSQL, pids)
	if err == nil {
		_, err = pgx.ForEachRow(rows, []any{&pid, &begin}, func() error {
			begins[pid] = begin
			return nil
		})
	}
	if err != nil {
		return nil, fmt.Errorf("reading when transactions began: %w", err)
	}
	return begins, nil
}
