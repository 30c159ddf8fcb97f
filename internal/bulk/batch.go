package bulk

import (
	"context"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgtype"
)

const mostInBatch = 5000 // messages

// chooseSQL gives the first $7 messages of those that deadSQL reads and selects.
const chooseSQL = `select m.available_at, m.id from %s m where m.selected limit $7`

// reachSQL says how many messages deadSQL reads up to a place, $7 null: up to its bound, and where the last one stands.
const reachSQL = `
with looked as materialized (
	select m.available_at, m.id from %s m where $7::timestamptz is null or (m.available_at, m.id) <= ($7, $8::bigint)
)
select (select count(*) from looked), l.available_at, l.id from looked l order by l.available_at desc, l.id desc limit 1`

// makeRoomSQL removes what has expired and nobody has a lease on, under the iids of the messages that stand at $1 and $2.
const makeRoomSQL = `
delete from mbus4.message m
using unnest($1::timestamptz[], $2::bigint[]) p (at, id)
cross join lateral (select d.* from mbus4.message d where d.consumer_id = 1 and d.available_at = p.at and d.id = p.id offset 0) d
where m.iid = coalesce(d.headers operator(mbus4_hstore.->) 'dmq.iid'::text, mbus4.iid_of(d.iid, 'dmq', d.available_at, d.id))
  and m.consumer_id <> 1 and m.expires <= statement_timestamp() and not (m.available_at > statement_timestamp() and mbus4.is_leased(m.available_at, m.delayed_until, m.headers))`

// purgeSQL removes the messages that stand at $1 and $2 and nobody has locked.
const purgeSQL = `
delete from mbus4.message m
where m.ctid = any(array(
	select m.ctid
	from unnest($1::timestamptz[], $2::bigint[]) p (at, id)
	cross join lateral (
		select m.ctid from mbus4.message m where m.consumer_id = 1 and m.available_at = p.at and m.id = p.id for update skip locked
	) m))`

// noteSQL notes what a batch has done, and leaves its row in the audit.
const noteSQL = `
with noted as (
	update mbus4.operation o
	set batches = $2::int, looked = o.looked + $3, done = o.done + $4, refused = o.refused + $5, held = o.held + $6, at = $7, message = $8,
	    state = case when $9 then 'done' else 'running' end, ended = case when $9 then clock_timestamp() end, changed = clock_timestamp(), error = null,
	    pid = pg_backend_pid(), backend_started = (select a.backend_start from pg_stat_activity a where a.pid = pg_backend_pid())
	where o.id = $1
	returning o.*
)
insert into mbus4.audit (action, queue, consumer, selector, messages, details)
select n.kind, n.queue, n.consumer, n.selector, $4,
       jsonb_strip_nulls(jsonb_build_object('operation', n.id, 'batch', n.batches, 'target_queue', n.target_queue, 'target_consumer', n.target_consumer, 'undoes', n.undoes))
from noted n
where $4 > 0`

// done is what a batch has done.
type done struct {
	looked, done, refused, held int64
	to                          position
	finished                    bool
}

// runBatch runs a batch of an operation that is running, in a transaction with settings, with the session's rights. It deals with as many messages as it is told,
// or looks at twenty times as many, whichever comes first. An undo takes back what one batch has put back.
func runBatch(ctx context.Context, tx pgx.Tx, id int64, amount int) error {
	amount = min(max(amount, 1), mostInBatch)
	o, err := claim(ctx, tx, id)
	if err != nil || o.state != Running {
		return err
	}
	var other int
	err = tx.QueryRow(ctx, `
		select o.pid
		from mbus4.operation o
		join pg_stat_activity a on a.pid = o.pid and a.backend_start = o.backend_started
		where o.id = $1 and o.pid <> pg_backend_pid()`, id).Scan(&other)
	switch {
	case err == nil:
		return &pgconn.PgError{Code: "55006", Message: fmt.Sprintf("operation %d is being run by the session %d", id, other)}
	case !errors.Is(err, pgx.ErrNoRows):
		return err
	}
	var d done
	if o.kind == Undo {
		d.to = o.from
		if err := tx.QueryRow(ctx, takeBackSQL, id).Scan(&d.looked, &d.done); err != nil {
			return err
		}
		d.refused, d.finished = d.looked-d.done, d.looked == 0
	} else if d, err = o.run(ctx, tx, id, amount); err != nil {
		return err
	}
	_, err = tx.Exec(ctx, noteSQL, id, o.batches+1, d.looked, d.done, d.refused, d.held, d.to.at, d.to.id, d.finished)
	return err
}

// run deals with the next messages of an operation that is no undo.
func (o claimed) run(ctx context.Context, tx pgx.Tx, id int64, amount int) (d done, err error) {
	looked, err := dead(ctx, tx, o.selection.Selector)
	if err != nil {
		return d, err
	}
	from := o.from
	if from.id < 0 {
		if err := tx.QueryRow(ctx, `select greatest($1, mbus4.first_dead(null))`, from.at).Scan(&from.at); err != nil {
			return d, err
		}
	}
	arguments := o.selection.arguments(from, 20*amount)
	rows, err := tx.Query(ctx, fmt.Sprintf(chooseSQL, looked), append(arguments, amount)...)
	if err != nil {
		return d, err
	}
	var at []pgtype.Timestamptz
	var ids []int64
	var p position
	if _, err := pgx.ForEachRow(rows, []any{&p.at, &p.id}, func() error {
		at, ids = append(at, p.at), append(ids, p.id)
		return nil
	}); err != nil {
		return d, err
	}

	// How far it came: to the last message of a full batch, or to where it stopped looking.
	last := []any{nil, nil}
	if len(ids) == amount {
		last, arguments[5] = []any{p.at, p.id}, p.at // its time is until when
	}
	plain, _ := dead(ctx, tx, "")
	d.to = from
	err = tx.QueryRow(ctx, fmt.Sprintf(reachSQL, plain), append(arguments, last...)...).Scan(&d.looked, &d.to.at, &d.to.id)
	if err != nil && !errors.Is(err, pgx.ErrNoRows) {
		return d, err
	}
	d.finished = len(ids) < amount && d.looked < int64(20*amount)

	if len(ids) == 0 {
		return d, nil
	}
	if o.kind == Purge {
		gone, err := tx.Exec(ctx, purgeSQL, at, ids)
		d.done, d.held = gone.RowsAffected(), int64(len(ids))-gone.RowsAffected()
		return d, err
	}
	if _, err := tx.Exec(ctx, makeRoomSQL, at, ids); err != nil {
		return d, err
	}
	var locked int64
	err = tx.QueryRow(ctx, putBackSQL, at, ids, o.target[0], o.target[1], id, o.batches+1).Scan(&locked, &d.done)
	d.refused, d.held = locked-d.done, int64(len(ids))-locked
	return d, err
}
