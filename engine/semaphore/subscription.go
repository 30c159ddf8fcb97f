package semaphore

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"

	"mbusproxy/engine/internal/service"
	"mbusproxy/engine/refusal"
	"mbusproxy/engine/selectors"
	"mbusproxy/rewrite/parse"
	"mbusproxy/sqlfuncs"
)

// ownParser reads the selectors of subscriptions, which are made without an Engine and its parser.
var ownParser = sync.OnceValue(parse.New)

const (
	eventBatch = 100                   // events consumed in one transaction
	eventPoll  = 50 * time.Millisecond // between two looks at an empty queue
)

// EventKind says what happened to a task.
type EventKind string

// The kinds of events.
const (
	// Acquired: the task has got a slot, which it holds until it is released.
	Acquired EventKind = "Acquired"
	// TryRelease: a better task waits, or there are too many; the task should be released soon.
	TryRelease EventKind = "TryRelease"
)

// Event tells of one task.
type Event struct {
	Kind   EventKind
	Key    string // of the semaphore
	TaskID int64
}

// Subscription gets events, as a consumer of the queue semaphore_events. Any number of programs may
// have the same one: each event goes to one of them.
type Subscription struct {
	db       DB
	consumer string
	consume  string // statement
	drop     string
}

// Subscribe makes a consumer of events, unless it exists: one for those of one semaphore, or with an empty
// key for all. It gets what happens from then on, whether somebody runs it or not, so subscribe before you
// enqueue, and drop it when it is no longer wanted. consumer is 1 to 32 characters of a-z, 0-9 and _.
//
// Over a direct connection a subscription to one semaphore takes the rights of the schema's owner: it
// makes the row of a selector.
func (s *Semaphores) Subscribe(ctx context.Context, consumer, key string) (*Subscription, error) {
	proxied, err := s.proxied(ctx)
	if err != nil {
		return nil, fmt.Errorf("subscribing to semaphores: %w", err)
	}
	selector := ""
	if key != "" {
		selector = "(t.data->'semaphore_key') = " + sqlfuncs.QuoteLiteral(key)
	}
	columns := func(message string) string {
		field := func(name string) string {
			return message + " operator(" + sqlfuncs.BoundHstore + ".->) '" + name + "'::text"
		}
		return field("event") + ", " + field("semaphore_key") + ", (" + field("task_id") + ")::bigint"
	}
	sub := &Subscription{
		db: s.db, consumer: consumer,
		consume: "select " + columns("m.data") + " from mbus4.consumen($1, $2, $3) m",
		drop:    "select mbus4.drop_consumer($1, $2)",
	}
	create := "select mbus4.create_consumer($1, $2, $3, $4)"
	if !proxied {
		create = s.texts.Statement("create_consumer", "1")
		sub.consume = s.texts.Statement("consumen", columns("(mbus4_call.consumen).data"))
		sub.drop = s.texts.Statement("drop_consumer", "1")
	}
	return sub, s.createConsumer(ctx, create, proxied, consumer, selector)
}

// proxied reports whether an mbusproxy stands before the server.
func (s *Semaphores) proxied(ctx context.Context) (bool, error) {
	tx, err := s.db.Begin(ctx)
	if err != nil {
		return false, err
	}
	defer func() { _ = tx.Rollback(ctx) }() // a broken connection shows in the next statement
	var exists bool
	switch err := tx.QueryRow(ctx, `select mbus4.is_msg_exists('')`).Scan(&exists); {
	case err == nil:
		return true, nil
	case refusal.SQLState(err) == "42883": // undefined_function
		return false, nil
	default:
		return false, err
	}
}

func (s *Semaphores) createConsumer(ctx context.Context, create string, proxied bool, consumer, selector string) error {
	tx, err := s.db.Begin(ctx)
	if err != nil {
		return fmt.Errorf("subscribing to semaphores: %w", err)
	}
	defer func() { _ = tx.Rollback(ctx) }() // after a commit it does nothing
	var is *string
	err = tx.QueryRow(ctx, `select coalesce(max(selector), '') from mbus4.consumer where qname = $1 and name = lower($2 collate "C") having count(*) > 0`, Events, consumer).Scan(&is)
	if err == nil {
		if *is != selector {
			return &refusal.Error{
				Code:    refusal.DuplicateObject,
				Message: fmt.Sprintf("queue %q already has a consumer %q, for other events", Events, consumer),
				Hint:    "Drop that one, or choose another name.",
			}
		}
		return nil
	}
	if err != pgx.ErrNoRows { //nolint:errorlint // Scan returns it as it is
		return fmt.Errorf("subscribing to semaphores: %w", err)
	}
	if !proxied && selector != "" {
		if err := selectors.StoreOwn(ctx, tx, ownParser(), selector); err != nil {
			return refusal.Wrap("subscribing to semaphores", err)
		}
	}
	if _, err := tx.Exec(ctx, create, Events, consumer, selector, true); err != nil {
		return callError("subscribing to", Events, err)
	}
	if err := tx.Commit(ctx); err != nil {
		return fmt.Errorf("subscribing to semaphores: %w", err)
	}
	return nil
}

// Run gives the events to handle, one after another in the order in which they happened, until ctx ends (then
// it finishes the batch under way and returns nil) or something fails. The events of a batch, a hundred at
// most, are consumed in one transaction, which handle gets and may use: when handle fails, or the program
// ends, they are consumed again. So what handle does in the transaction happens exactly once.
func (s *Subscription) Run(ctx context.Context, handle func(ctx context.Context, tx pgx.Tx, e Event) error) error {
	for ctx.Err() == nil {
		// Cancelling a statement would cost the connection.
		n, err := s.batch(context.WithoutCancel(ctx), handle)
		if err != nil {
			return err
		}
		if n == 0 {
			service.Sleep(ctx, eventPoll)
		}
	}
	return nil
}

func (s *Subscription) batch(ctx context.Context, handle func(ctx context.Context, tx pgx.Tx, e Event) error) (n int, err error) {
	err = pgx.BeginFunc(ctx, s.db, func(tx pgx.Tx) error {
		rows, err := tx.Query(ctx, s.consume, Events, s.consumer, eventBatch)
		if err != nil {
			return fmt.Errorf("consuming semaphore events: %w", err)
		}
		events, err := pgx.CollectRows(rows, pgx.RowToStructByPos[Event])
		if err != nil {
			return fmt.Errorf("consuming semaphore events: %w", err)
		}
		n = len(events)
		for _, e := range events {
			if err := handle(ctx, tx, e); err != nil {
				return err
			}
		}
		return nil
	})
	return n, err
}

// Drop removes the consumer, with the events that nobody got.
func (s *Subscription) Drop(ctx context.Context) error {
	if _, err := s.db.Exec(ctx, s.drop, Events, s.consumer); err != nil {
		return callError("dropping a subscription to", Events, err)
	}
	return nil
}
