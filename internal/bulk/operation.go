package bulk

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

// mostOfName is how many bytes the name of a queue or a consumer may have.
const mostOfName = 1000

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

// beginSQL begins an operation and leaves its row in the audit. The server says whose it is.
const beginSQL = `
with begun as (
	insert into mbus4.operation (kind, queue, consumer, selector, since, until, target_queue, target_consumer, undoes, at)
	values ($1::text, lower($2::text collate "C"), lower($3::text collate "C"), $4::text, $5::timestamptz, least($6::timestamptz, clock_timestamp()),
	        lower($7::text collate "C"), lower($8::text collate "C"), $9::bigint, coalesce($5, '-infinity'))
	returning *
), noted as (
	insert into mbus4.audit (action, queue, consumer, selector, details)
	select 'begin ' || b.kind, b.queue, b.consumer, b.selector,
	       jsonb_strip_nulls(jsonb_build_object('operation', b.id, 'since', $5, 'until', $6, 'target_queue', b.target_queue, 'target_consumer', b.target_consumer, 'undoes', b.undoes))
	from begun b
)
select b.id from begun b`

// Begin begins an operation of the session's role; Run runs it. It selects what is dead by now. The
// error is the server's where the selector is none, and where the role lacks the right (SQLSTATE
// 42501), and of its kind where there is no such queue to move to.
func Begin(ctx context.Context, db Querier, r Request) (id int64, err error) {
	s := r.Selection
	if err := Check(ctx, db, s.Selector); err != nil {
		return 0, err
	}
	err = within(ctx, db, func(tx pgx.Tx) error {
		if err := r.check(ctx, tx); err != nil {
			return err
		}
		id, err = start(ctx, tx, string(r.Kind), orNull(s.Queue), orNull(s.Consumer), orNull(strings.TrimSpace(s.Selector)), timeOrNull(s.Since), timeOrNull(s.Until),
			orNull(r.TargetQueue), orNull(r.TargetConsumer), nil)
		return err
	})
	if err != nil {
		return 0, fmt.Errorf("beginning to %s: %w", r.Kind, err)
	}
	return id, nil
}

// check refuses what cannot be.
func (r Request) check(ctx context.Context, tx pgx.Tx) error {
	switch {
	case r.Kind != Redrive && r.Kind != Move && r.Kind != Purge:
		return &pgconn.PgError{Code: "22023", Message: fmt.Sprintf("%q is not a kind of operation", r.Kind), Hint: "These are: redrive, move, purge."}
	case max(len(r.Selection.Queue), len(r.Selection.Consumer)) > mostOfName:
		return &pgconn.PgError{Code: "22023", Message: "the messages are described in too many bytes", Hint: "Names have at most 1000 bytes."}
	case r.Kind == Move && r.TargetQueue == "":
		return &pgconn.PgError{Code: "22023", Message: "to move messages takes a target"}
	case r.Kind != Move && (r.TargetQueue != "" || r.TargetConsumer != ""):
		return &pgconn.PgError{Code: "22023", Message: "only what is moved has a target"}
	case r.Kind != Move:
		return nil
	}
	var queue, consumer, dmq bool
	err := tx.QueryRow(ctx, `
		select exists (select from mbus4.queue q where q.qname = t.queue),
		       exists (select from mbus4.consumer c where c.qname = t.queue and c.name = lower($2 collate "C") and c.target is null), t.queue = 'dmq'
		from (select lower($1 collate "C") as queue) t`, r.TargetQueue, r.TargetConsumer).Scan(&queue, &consumer, &dmq)
	switch {
	case err != nil:
		return err
	case !queue:
		return &pgconn.PgError{Code: "42704", Message: fmt.Sprintf(`queue "%s" does not exist`, r.TargetQueue)}
	case dmq:
		return &pgconn.PgError{Code: "22023", Message: "the messages are in dmq already"}
	case r.TargetConsumer != "" && !consumer:
		return &pgconn.PgError{Code: "42704", Message: fmt.Sprintf(`queue "%s" has no consumer "%s"`, r.TargetQueue, r.TargetConsumer)}
	}
	return nil
}

// start is beginSQL. That a role has few operations the table itself sees to; this says so in words.
func start(ctx context.Context, tx pgx.Tx, arguments ...any) (id int64, err error) {
	var role string
	var many bool
	if err := tx.QueryRow(ctx, `select session_user, mbus4.open_operations() >= 1000`).Scan(&role, &many); err != nil {
		return 0, err
	}
	if many {
		return 0, &pgconn.PgError{Code: "54000", Message: fmt.Sprintf(`role "%s" has too many operations that have not ended`, role), Hint: "Cancel some."}
	}
	return id, tx.QueryRow(ctx, beginSQL, arguments...).Scan(&id)
}

// BeginUndo begins an operation that undoes a redrive or a move of this role's, which has ended. Run runs it.
func BeginUndo(ctx context.Context, db Querier, undone int64) (id int64, err error) {
	err = within(ctx, db, func(tx pgx.Tx) error {
		if _, err := claim(ctx, tx, undone); err != nil {
			return err
		}
		var kind string
		var ended, undoable, undoing bool
		err := tx.QueryRow(ctx, `
			select o.kind, o.ended is not null, exists (select from mbus4.operation_log l where l.operation = o.id),
			       exists (select from mbus4.operation u where u.undoes = o.id and u.role_oid = o.role_oid and u.ended is null)
			from mbus4.operation o
			where o.id = $1`, undone).Scan(&kind, &ended, &undoable, &undoing)
		switch {
		case err != nil:
			return err
		case kind != string(Redrive) && kind != string(Move):
			return &pgconn.PgError{Code: "55000", Message: fmt.Sprintf("a %s cannot be undone", kind)}
		case !ended:
			return &pgconn.PgError{Code: "55000", Message: fmt.Sprintf("operation %d has not ended", undone), Hint: "Cancel it first."}
		case !undoable:
			return &pgconn.PgError{
				Code: "55000", Message: fmt.Sprintf("there is nothing to undo of operation %d", undone),
				Hint: "It has done nothing, was undone already, or ended more than seven days ago.",
			}
		case undoing:
			return &pgconn.PgError{Code: "55000", Message: fmt.Sprintf("operation %d is being undone already", undone)}
		}
		id, err = start(ctx, tx, string(Undo), nil, nil, nil, nil, nil, nil, nil, undone)
		return err
	})
	if err != nil {
		return 0, fmt.Errorf("beginning to undo operation %d: %w", undone, err)
	}
	return id, nil
}

// claimed is an operation that nobody else goes on with until the transaction ends.
type claimed struct {
	state     State
	selection Selection
	kind      Kind
	target    [2]any // queue and consumer, or null
	from      position
	batches   int
}

// claim locks an operation of the session's role. The policies of the table hide others'.
func claim(ctx context.Context, tx pgx.Tx, id int64) (c claimed, err error) {
	var queue, consumer, selector, target, targetConsumer *string
	err = tx.QueryRow(ctx, `
		select o.kind, o.state, o.queue, o.consumer, o.selector, o.until, o.target_queue, o.target_consumer, o.at, o.message, o.batches
		from mbus4.operation o
		where o.id = $1 and o.role_oid = to_regrole(quote_ident(session_user))
		for update`, id).
		Scan((*string)(&c.kind), (*string)(&c.state), &queue, &consumer, &selector, (*finiteTime)(&c.selection.Until), &target, &targetConsumer, &c.from.at, &c.from.id, &c.batches)
	if errors.Is(err, pgx.ErrNoRows) {
		return c, &pgconn.PgError{
			Code: "42704", Message: fmt.Sprintf("operation %d does not exist", id),
			Hint: "Others' operations cannot be seen: select id, kind, state from mbus4.operations.",
		}
	}
	if err != nil {
		return c, err
	}
	for _, name := range []struct {
		from *string
		to   *string
	}{{queue, &c.selection.Queue}, {consumer, &c.selection.Consumer}, {selector, &c.selection.Selector}} {
		if name.from != nil {
			*name.to = *name.from
		}
	}
	c.target = [2]any{target, targetConsumer}
	return c, nil
}

// Pause pauses an operation: a batch that is under way is finished, and then Run returns.
func Pause(ctx context.Context, db Querier, id int64) error { return set(ctx, db, id, Paused, "") }

// Resume lets an operation go on that was paused. Somebody must run it.
func Resume(ctx context.Context, db Querier, id int64) error { return set(ctx, db, id, Running, "") }

// Cancel ends an operation. What it has done stays done; Undo takes it back.
func Cancel(ctx context.Context, db Querier, id int64) error { return set(ctx, db, id, Cancelled, "") }

// setSQL sets the state of an operation and leaves its row in the audit.
const setSQL = `
with changed as (
	update mbus4.operation o
	set state = $2::text, changed = clock_timestamp(), ended = case when $2 = 'cancelled' then clock_timestamp() end, error = "left"($3, 1000)
	where o.id = $1
	returning o.*
)
insert into mbus4.audit (action, queue, consumer, details)
select case $2 when 'running' then 'resume ' when 'paused' then 'pause ' else 'cancel ' end || c.kind, c.queue, c.consumer, jsonb_build_object('operation', c.id)
from changed c`

func set(ctx context.Context, db Querier, id int64, s State, why string) error {
	err := within(ctx, db, func(tx pgx.Tx) error {
		o, err := claim(ctx, tx, id)
		switch {
		case err != nil || o.state == s:
			return err
		case o.state == Cancelled || o.state == Done:
			return &pgconn.PgError{Code: "55000", Message: fmt.Sprintf("operation %d has ended: it is %s", id, o.state)}
		}
		_, err = tx.Exec(ctx, setSQL, id, string(s), orNull(why))
		return err
	})
	if err != nil {
		return fmt.Errorf("making operation %d %s: %w", id, s, err)
	}
	return nil
}

// abandon leaves an operation to other sessions of the role, if this one runs it.
func abandon(ctx context.Context, db Querier, id int64) error {
	return within(ctx, db, func(tx pgx.Tx) error {
		_, err := tx.Exec(ctx, `update mbus4.operation set pid = null, backend_started = null where id = $1 and pid = pg_backend_pid()`, id)
		return err
	})
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
