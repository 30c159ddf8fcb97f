package tour

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"
)

// channel is the one on which services notify each other that something was committed.
const channel = "saga"

const schemaSQL = `
create table if not exists tour (
	tour_id  bigint generated always as identity primary key,
	customer text not null,
	state    text not null default 'booking' check (state in ('booking', 'booked', 'rolling back', 'cancelled')),
	reason   text check ((reason is null) = (state in ('booking', 'booked'))),
	details  hstore not null default '', -- what later steps need of earlier ones: step => reference
	iids     hstore not null default ''  -- all messages of the saga: what it is for => iid
);

-- asked: by the service, before it asks. What came of it is not known.
-- booked, refused: the answer, in the transaction that consumed the message or started the rollback.
-- cancelled: from asked or booked, by the way back. No row: it was never asked for.
create table if not exists reservation (
	tour_id   bigint not null references tour,
	step      text not null,
	state     text not null default 'asked' check (state in ('asked', 'booked', 'refused', 'cancelled')),
	key       text not null, -- the idempotency key: the iid of the message
	reference text,
	primary key (tour_id, step)
);

-- The web services of hotels, airlines and taxis. Written on connections of its own, never in a
-- transaction of a service.
create schema if not exists outside;
create table if not exists outside.booking (
	key       text primary key,
	tour_id   bigint not null,
	step      text not null,
	state     text not null check (state in ('booked', 'refused', 'cancelled', 'void')),
	reference text
);
-- What really happened there; an answer given again is not in it.
create table if not exists outside.ledger (
	id   bigint generated always as identity primary key,
	key  text not null,
	what text not null check (what in ('booked', 'cancelled'))
);`

// Setup creates the queues and the tables where they are missing. The queues come first: with the first
// call in a database comes the extension hstore.
func Setup(ctx context.Context, conn *pgx.Conn) error {
	err := pgx.BeginFunc(ctx, conn, func(tx pgx.Tx) error {
		if _, err := tx.Exec(ctx, "select pg_advisory_xact_lock(hashtext('saga'))"); err != nil {
			return err
		}
		queues := map[string]bool{bungQueue: true, endQueue: true, cancelledQueue: true}
		for _, p := range plan() {
			queues[p.queue], queues[p.cancel] = true, true
		}
		for q := range queues {
			if _, err := tx.Exec(ctx, "select mbus4.create_queue($1, 8)", q); err != nil {
				return err
			}
		}
		_, err := tx.Exec(ctx, schemaSQL)
		return err
	})
	if err != nil {
		return fmt.Errorf("setting up tables and queues: %w", err)
	}
	return nil
}
