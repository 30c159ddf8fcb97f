package bulk

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
)

// Kind is what an operation does with the messages.
type Kind string

// The kinds.
const (
	Redrive Kind = "redrive" // puts them back to where they came from
	Move    Kind = "move"    // puts them into another queue
	Purge   Kind = "purge"   // removes them
	Undo    Kind = "undo"    // takes back to dmq what a redrive or move has put elsewhere and nobody has had since
)

// State is how an operation stands.
type State string

// The states. An operation begins as paused, for nobody runs it yet; Run makes it running, and from
// there it comes to any of the others. What is cancelled or done has ended.
const (
	Running   State = "running"
	Paused    State = "paused"
	Cancelled State = "cancelled"
	Done      State = "done"
)

// Request is what an operation is to do.
type Request struct {
	Kind           Kind // not Undo
	Selection      Selection
	TargetQueue    string // of Move
	TargetConsumer string // of Move; "": those of the queue that select them
}

// Operation is an operation as it stands.
type Operation struct {
	ID             int64
	Kind           Kind
	State          State
	Selection      Selection // Until is always given
	TargetQueue    string
	TargetConsumer string
	Undoes         int64 // the operation that it undoes; 0: none
	Looked         int64 // messages that it has come by
	Done           int64 // those that it has dealt with
	Refused        int64 // those that cannot go there; of an undo, those that somebody has or has had meanwhile
	Held           int64 // those that others had locked, and that it has passed over
	Started        time.Time
	Changed        time.Time
	Ended          time.Time // zero: it has not
	Error          string    // why it was paused
	Undoable       bool      // there is something that an undo would take back
	Interrupted    bool      // it is paused because the session has ended that ran it: it goes on with the next log-in
}

// Begin begins an operation of the session's role; Run runs it. It selects what is dead by now. The
// error is the server's where the selector is none, where there is no such queue to move to, and
// where the role lacks the right (SQLSTATE 42501).
func Begin(ctx context.Context, db Querier, r Request) (id int64, err error) {
	s := r.Selection
	if err := Check(ctx, db, s.Selector); err != nil {
		return 0, err
	}
	err = db.QueryRow(ctx, `select mbus4.operation_begin($1, $2, $3, $4, $5, $6, $7, $8)`, string(r.Kind), orNull(s.Queue), orNull(s.Consumer),
		orNull(strings.TrimSpace(s.Selector)), timeOrNull(s.Since), timeOrNull(s.Until), orNull(r.TargetQueue), orNull(r.TargetConsumer)).Scan(&id)
	if err != nil {
		return 0, fmt.Errorf("beginning to %s: %w", r.Kind, err)
	}
	return id, nil
}

// BeginUndo begins an operation that undoes a redrive or a move of this role's, which has ended. Run runs it.
func BeginUndo(ctx context.Context, db Querier, undone int64) (id int64, err error) {
	if err := db.QueryRow(ctx, `select mbus4.operation_begin('undo', undoes => $1)`, undone).Scan(&id); err != nil {
		return 0, fmt.Errorf("beginning to undo operation %d: %w", undone, err)
	}
	return id, nil
}

// Pause pauses an operation: a batch that is under way is finished, and then Run returns.
func Pause(ctx context.Context, db Querier, id int64) error { return set(ctx, db, id, Paused, "") }

// Resume lets an operation go on that was paused. Somebody must run it.
func Resume(ctx context.Context, db Querier, id int64) error { return set(ctx, db, id, Running, "") }

// Cancel ends an operation. What it has done stays done; Undo takes it back.
func Cancel(ctx context.Context, db Querier, id int64) error { return set(ctx, db, id, Cancelled, "") }

func set(ctx context.Context, db Querier, id int64, s State, why string) error {
	if _, err := db.Exec(ctx, `select mbus4.operation_set($1, $2, $3)`, id, string(s), orNull(why)); err != nil {
		return fmt.Errorf("making operation %d %s: %w", id, s, err)
	}
	return nil
}

const operationsSQL = `
select o.id, o.kind, o.state, o.queue, o.consumer, o.selector, o.since, o.until, o.target_queue, o.target_consumer, coalesce(o.undoes, 0), o.looked, o.done, o.refused, o.held,
       o.started, o.changed, o.ended, o.error, o.undoable, o.interrupted
from mbus4.operations o`

// Operations lists the operations of the session's role, the newest first, those before a number where that is not 0.
func Operations(ctx context.Context, db Querier, before int64, amount int) ([]Operation, error) {
	rows, err := db.Query(ctx, operationsSQL+` where o.id operator(pg_catalog.<) $1 or $1 operator(pg_catalog.=) 0 order by o.id desc limit $2`, before, amount)
	if err != nil {
		return nil, fmt.Errorf("listing operations: %w", err)
	}
	list, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (Operation, error) { return scanOperation(row) })
	if err != nil {
		return nil, fmt.Errorf("listing operations: %w", err)
	}
	return list, nil
}

// Find gives an operation of the session's role. The error is pgx.ErrNoRows where there is none, or
// it is another role's.
func Find(ctx context.Context, db Querier, id int64) (Operation, error) {
	o, err := scanOperation(db.QueryRow(ctx, operationsSQL+` where o.id operator(pg_catalog.=) $1`, id))
	if err != nil {
		return o, fmt.Errorf("looking for operation %d: %w", id, err)
	}
	return o, nil
}

func scanOperation(row pgx.Row) (o Operation, err error) {
	err = row.Scan(&o.ID, (*string)(&o.Kind), (*string)(&o.State), (*optional)(&o.Selection.Queue), (*optional)(&o.Selection.Consumer), (*optional)(&o.Selection.Selector),
		(*finiteTime)(&o.Selection.Since), (*finiteTime)(&o.Selection.Until), (*optional)(&o.TargetQueue), (*optional)(&o.TargetConsumer), &o.Undoes, &o.Looked, &o.Done,
		&o.Refused, &o.Held, (*finiteTime)(&o.Started), (*finiteTime)(&o.Changed), (*finiteTime)(&o.Ended), (*optional)(&o.Error), &o.Undoable, &o.Interrupted)
	return o, err
}
