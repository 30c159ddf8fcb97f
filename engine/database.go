package engine

import (
	"context"

	"mbusproxy/engine/calls"
	"mbusproxy/engine/housekeeping"
	"mbusproxy/engine/schema"
	"mbusproxy/engine/selectors"
	"mbusproxy/engine/semaphore"
	"mbusproxy/engine/waiting"
)

// Database is one served database. It stays valid after the engine has dropped it, as a name.
type Database struct {
	engine    *Engine
	installed schema.Installation
	pending   bool // steps of the schema were left
	features  *schema.Features
	selectors *selectors.Maker
	granter   *semaphore.Granter
	watcher   *waiting.Watcher
	keeper    *housekeeping.Keeper
}

// Site is what the SQL of calls in the database depends on, as far as it is known here.
func (d *Database) Site() calls.Site {
	return calls.Site{Ordered: d.features.Ordered()}
}

// Name is the database's name.
func (d *Database) Name() string { return d.installed.Database() }

// NoteOrder tells that a message is about to be posted that may wait for others.
func (d *Database) NoteOrder() { d.features.NoteOrdered() }

// NoteTriggers tells that a trigger is about to be made.
func (d *Database) NoteTriggers() { d.features.NoteTriggers() }

// NoteSemaphores tells that a transaction that called functions of semaphores has ended, committed or not: what it
// may have made possible is granted at once. It does not wait.
func (d *Database) NoteSemaphores() {
	d.granter.Note()
	if !d.granter.Leads() {
		d.watcher.Note(waiting.QueuesOf(semaphore.Events), false) // the events are posted by another proxy, which may not know yet that somebody waits here
	}
}

// NoteMessages tells that a transaction that may have posted messages to those queues or given some
// back has ended, posted that it has called functions that post. It does not wait.
func (d *Database) NoteMessages(queues waiting.Queues, posted bool) {
	d.watcher.Note(queues, posted)
}

// Awaited reports whether it matters of which queues NoteMessages is told.
func (d *Database) Awaited() bool { return d.watcher.Awaited() }

// Join takes a place in the line of those who wait for messages.
func (d *Database) Join(key waiting.Key) *waiting.Place { return d.watcher.Lines.Join(key) }

// Condition is the SQL of a selector, over t, a row of mbus4.qt_model: 1 where the message matches;
// see selectors.Maker. A refusal is an *Error.
func (d *Database) Condition(ctx context.Context, selector string) (sql string, err error) {
	return d.selectors.Condition(ctx, selector)
}

// EnsureSelector checks a selector and makes its row unless it is there. A refusal is an *Error. An empty selector
// selects everything and needs no row. Where neither the role nor one that it is a member of may do what the call
// does, nothing is checked nor made: the server will refuse the call.
func (d *Database) EnsureSelector(ctx context.Context, use selectors.Use) error {
	if d.selectors.Known(use.Text) {
		return nil
	}
	ctx, cancel := d.engine.untilStop(ctx)
	defer cancel()
	return d.selectors.Ensure(ctx, use)
}
