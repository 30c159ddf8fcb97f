package selectors

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"

	"mbusproxy/engine/refusal"
)

// maxSlots bounds the consumers whose selectors' errors are counted: each takes two sequences.
const maxSlots = 500

// AssignSlots gives a place to count errors to the consumers whose selectors can fail, and takes it back from
// those that are gone. The sequences of a slot stay and serve the next consumer.
func AssignSlots(ctx context.Context, conn *pgx.Conn) error {
	const due = `
		select exists (select from mbus4.selector_slot s
		               where s.consumer_id is not null and not exists (select from mbus4.consumer c where c.id = s.consumer_id))
		    or (select pg_catalog.count(*) < $1 or pg_catalog.bool_or(s.consumer_id is null) from mbus4.selector_slot s)
		       and exists (` + withoutSlotSQL + `)`
	var is bool
	if err := conn.QueryRow(ctx, due, maxSlots).Scan(&is); err != nil {
		return fmt.Errorf("looking for selectors whose errors are to be counted: %w", err)
	}
	if !is {
		return nil
	}
	err := pgx.BeginFunc(ctx, conn, func(tx pgx.Tx) error { return changeSlots(ctx, tx) })
	if err != nil && refusal.SQLState(err) != refusal.LockNotAvailable { // another proxy does it
		return fmt.Errorf("assigning where errors of selectors are counted: %w", err)
	}
	return nil
}

const withoutSlotSQL = `
select c.id::bigint
from mbus4.selector s
join mbus4.consumer c on c.selector_id = s.id
where s.can_fail and not exists (select from mbus4.selector_slot x where x.consumer_id = c.id)`

func changeSlots(ctx context.Context, tx pgx.Tx) error {
	if _, err := tx.Exec(ctx, `lock table mbus4.selector_slot in share row exclusive mode nowait`); err != nil {
		return err
	}
	_, err := tx.Exec(ctx, `
		update mbus4.selector_slot s set consumer_id = null
		where s.consumer_id is not null and not exists (select from mbus4.consumer c where c.id = s.consumer_id)`)
	if err != nil {
		return err
	}
	rows, err := tx.Query(ctx, withoutSlotSQL+` order by 1 limit $1`, maxSlots)
	if err != nil {
		return err
	}
	consumers, err := pgx.CollectRows(rows, pgx.RowTo[int64])
	if err != nil {
		return err
	}
	for _, id := range consumers {
		if given, err := giveSlot(ctx, tx, id); err != nil || !given {
			return err
		}
	}
	return nil
}

// giveSlot gives a consumer the first free slot, or a new one. False: there is none left.
func giveSlot(ctx context.Context, tx pgx.Tx, consumer int64) (bool, error) {
	tag, err := tx.Exec(ctx, `
		update mbus4.selector_slot s
		set consumer_id = $1,
		    base = coalesce(pg_catalog.pg_sequence_last_value(pg_catalog.format('mbus4.selector_errors_%s', s.slot)::regclass), 0)
		where s.slot = (select pg_catalog.min(f.slot) from mbus4.selector_slot f where f.consumer_id is null)`, consumer)
	if err != nil || tag.RowsAffected() > 0 {
		return err == nil, err
	}
	var slot int
	if err := tx.QueryRow(ctx, `select pg_catalog.count(*) from mbus4.selector_slot`).Scan(&slot); err != nil || slot >= maxSlots {
		return false, err
	}
	_, err = tx.Exec(ctx, fmt.Sprintf(`create sequence mbus4.selector_errors_%d as bigint cycle`, slot))
	if err == nil {
		_, err = tx.Exec(ctx, fmt.Sprintf(`create sequence mbus4.selector_message_%d as bigint cycle`, slot))
	}
	if err == nil {
		_, err = tx.Exec(ctx, `insert into mbus4.selector_slot (slot, consumer_id, base) values ($1, $2, 0)`, slot, consumer)
	}
	return err == nil, err
}
