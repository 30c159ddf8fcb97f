package housekeeping

import (
	"bytes"
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"mbusproxy/engine/schema"
)

const (
	maxHints    = 1024 // hints in all: a file of 8 kB each
	hintsAtOnce = 16   // that are given out in one turn
)

// The consumers that share a hint and have none of their own, whichever of them holds it back.
// Temporary ones come and go.
const sharingSQL = `
select s.id
from (
	select c.id, c.hint, c.target, c.qname, pg_catalog.count(*) over (partition by c.id % $1) as sharing
	from mbus4.consumer c
	where c.target is null
) s
join mbus4.queue q on q.qname = s.qname
where s.hint is null and s.sharing > 1 and q.kind <> 'temp'
order by s.id
limit $2`

// The numbers of own hints that are there, those first that nobody has.
const numbersSQL = `
select n.number, c.id is null
from (
	select pg_catalog.substr(r.relname::text, 6)::int as number
	from pg_catalog.pg_class r
	where r.relnamespace = 'mbus4'::regnamespace and r.relkind = 'S' and r.relname::text ~ '^hint_[0-9]{1,4}$'
) n
left join mbus4.consumer c on c.hint = n.number
where n.number >= $1
order by 2 desc, 1`

// Who may read hint_0, for GRANT. As bytes: names of roles may be in another encoding than the database.
const hintReadersSQL = `
select pg_catalog.textsend(case when a.grantee = 0 then 'public' else pg_catalog.quote_ident(pg_catalog.pg_get_userbyid(a.grantee)) end)
from pg_catalog.pg_class c
cross join lateral pg_catalog.aclexplode(c.relacl) a
where c.oid = 'mbus4.hint_0'::regclass and a.grantee <> c.relowner and a.privilege_type = 'SELECT'`

// Consumers that were restored without the sequence.
const withoutHintSQL = `
update mbus4.consumer set hint = null
where hint is not null and pg_catalog.to_regclass('mbus4.hint_' || hint) is null`

// giveHints gives hints of their own to consumers that share one: what is live of one of them would
// keep the others from forgetting what is gone. Such a hint begins where the shared one is, before
// the consumer has it. The shared one goes on to count the consumer, for transactions whose
// snapshots are older. All of a turn is one transaction, so that those who wait for messages are
// looked for once after it, and not after each hint; the rows of consumers, which calls may want to
// lock, are written last.
func (h *hinter) giveHints(ctx context.Context, conn *pgx.Conn) error {
	given := 0
	err := pgx.BeginFunc(ctx, conn, func(tx pgx.Tx) (err error) {
		given, err = shareOut(ctx, tx)
		return err
	})
	if err != nil {
		return fmt.Errorf("giving hints to consumers: %w", err)
	}
	if h.more = given > 0; h.more {
		h.low = time.Time{} // the next turn reads the hints afresh, those of these numbers as well
	}
	return nil
}

// shareOut is giveHints in its transaction, and returns how many hints it has given.
func shareOut(ctx context.Context, tx pgx.Tx) (given int, err error) {
	var may bool
	if err := tx.QueryRow(ctx, `select pg_catalog.has_schema_privilege('mbus4', 'create') and pg_catalog.has_table_privilege('mbus4.consumer', 'update')`).Scan(&may); err != nil || !may {
		return 0, err
	}
	if _, err := tx.Exec(ctx, withoutHintSQL); err != nil {
		return 0, fmt.Errorf("taking hints back that are not there: %w", err)
	}
	rows, err := tx.Query(ctx, sharingSQL, schema.HintSlots, hintsAtOnce)
	if err != nil {
		return 0, fmt.Errorf("looking for shared hints: %w", err)
	}
	consumers, err := pgx.CollectRows(rows, pgx.RowTo[int64])
	if err != nil || len(consumers) == 0 {
		return 0, err
	}
	free, next, err := hintNumbers(ctx, tx)
	if err != nil {
		return 0, err
	}
	var numbers []int
	for _, consumer := range consumers {
		number := next
		if len(free) > 0 {
			number, free = free[0], free[1:]
		} else if next < maxHints {
			if err := makeHint(ctx, tx, number); err != nil {
				return 0, fmt.Errorf("making a hint: %w", err)
			}
			next++
		} else {
			break // this one and the others go on to share
		}
		if _, err := tx.Exec(ctx, fmt.Sprintf(`select pg_catalog.setval('mbus4.hint_%d', coalesce(pg_catalog.pg_sequence_last_value('mbus4.hint_%d'::regclass), 0))`,
			number, consumer%schema.HintSlots)); err != nil {
			return 0, fmt.Errorf("setting a new hint: %w", err)
		}
		numbers = append(numbers, number)
	}
	_, err = tx.Exec(ctx, `update mbus4.consumer c set hint = n.number from unnest($1::bigint[], $2::int[]) n (id, number) where c.id = n.id`, consumers[:len(numbers)], numbers)
	return len(numbers), err
}

// makeHint makes a sequence, and lets read it who may read hint_0.
func makeHint(ctx context.Context, tx pgx.Tx, number int) error {
	if _, err := tx.Exec(ctx, fmt.Sprintf(`create sequence mbus4.hint_%d as bigint minvalue 0 start 0`, number)); err != nil {
		return err
	}
	rows, err := tx.Query(ctx, hintReadersSQL)
	if err != nil {
		return err
	}
	readers, err := pgx.CollectRows(rows, pgx.RowTo[[]byte])
	if err != nil || len(readers) == 0 {
		return err
	}
	_, err = tx.Exec(ctx, fmt.Sprintf(`grant select on sequence mbus4.hint_%d to %s`, number, bytes.Join(readers, []byte(", "))))
	return err
}

// hintNumbers gives the numbers of own hints that nobody has, and the first that there is no sequence for.
func hintNumbers(ctx context.Context, tx pgx.Tx) (free []int, next int, err error) {
	next = schema.HintSlots
	rows, err := tx.Query(ctx, numbersSQL, schema.HintSlots)
	if err != nil {
		return nil, 0, fmt.Errorf("looking for free hints: %w", err)
	}
	var number int
	var unused bool
	_, err = pgx.ForEachRow(rows, []any{&number, &unused}, func() error {
		if unused {
			free = append(free, number)
		}
		next = max(next, number+1)
		return nil
	})
	return free, next, err
}
