package rewriter

import (
	"time"

	"mbusproxy/engine/waiting"
	"mbusproxy/proxy/statements"
	"mbusproxy/proxy/wire"
	"mbusproxy/sqlfuncs"
)

// What a transaction may have changed. Behind these bits stand the waiting.Queues in which it may have.
const (
	signalMessages statements.Signals = 1 << iota
	signalPosts
	signalSemaphores

	signalQueues = 4 // where the bits of the queues begin
)

// Signals says what a transaction that runs the plan may have changed. If the plan has failed, what it took comes back.
func (p wirePlan) Signals(ok bool, bound statements.Signals) (s statements.Signals) {
	switch {
	case p.db == nil:
		return 0
	case !ok && p.Takes() == statements.TakesNothing:
		return 0
	case !ok:
		return signalMessages | statements.Signals(p.queues(bound))<<signalQueues
	}
	if p.Writes() {
		s |= signalMessages
	}
	if p.Posts() {
		s |= signalPosts
	}
	if s != 0 {
		s |= statements.Signals(p.queues(bound)) << signalQueues
	}
	if p.MakesTriggers() {
		p.db.NoteTriggers()
	}
	if p.Plan.Signals() {
		s |= signalSemaphores
	}
	return s
}

// queues are those in which the calls of the plan may make something deliverable, as far as its text
// says which, and what is bound to its parameters.
func (p wirePlan) queues(bound statements.Signals) (q waiting.Queues) {
	if !p.db.Awaited() {
		return waiting.AnyQueue // nobody asks
	}
	addresses, _ := p.Addresses()
	calls := 0
	for range p.Functions() {
		calls++
	}
	if calls != len(addresses) { // there are too many
		return waiting.AnyQueue
	}
	for i := range addresses {
		a := &addresses[i]
		switch a.Func.Serves {
		case "lease":
			q |= waiting.QueuesOf("dmq") // where those go whose attempts are used up
		case "post", "consume", "consumen", "consume_json", "dyn_consume", "take_from":
		case "ack": // what it removes was nobody else's, and makes way for nothing but messages that wait for it
			if p.db.Site().Ordered {
				return waiting.AnyQueue
			}
			continue
		default:
			if a.Func.Effect == sqlfuncs.Reads || a.Func.Effect == sqlfuncs.Draws {
				continue
			}
			return waiting.AnyQueue
		}
		switch named := waiting.Queues(bound >> signalQueues); {
		case a.Queue.Param == 0 && a.Queue.Text != "":
			q |= waiting.QueuesOf(sqlfuncs.Fold(a.Queue.Text))
		case a.Queue.Param != 0 && named != 0:
			q |= named
		default:
			return waiting.AnyQueue
		}
	}
	return q
}

// ValueSignals returns what reads the names of queues that are bound to parameters.
func (p wirePlan) ValueSignals() statements.ValueSignals {
	if p.db == nil {
		return nil
	}
	numbers, certain := p.QueueParameters()
	if len(numbers) == 0 {
		return nil
	}
	return &boundQueues{p.db, numbers, !certain}
}

// boundQueues reads names of queues that are bound to parameters.
type boundQueues struct {
	db         interface{ Awaited() bool }
	parameters []int
	unclear    bool // the values may not be the names
}

// Parameters returns the parameters.
func (b *boundQueues) Parameters() []int { return b.parameters }

// Of returns the queue.
func (b *boundQueues) Of(value wire.Value) statements.Signals {
	if b.unclear || !b.db.Awaited() || value.Null || len(value.Bytes) > maxNameBytes { // nobody asks, or the call fails
		return statements.AllSignals
	}
	return statements.Signals(waiting.QueuesOf(sqlfuncs.Fold(string(value.Bytes)))) << signalQueues
}

// AfterPrepared tells the engine that a transaction has ended that PREPARE TRANSACTION had set aside.
func (r *Rewriter) AfterPrepared(database string) {
	if db := r.engine.Recall(database, time.Time{}); db != nil {
		db.NoteMessages(waiting.AnyQueue, true)
		db.NoteSemaphores()
	}
}

// AfterTransaction tells the engine that a transaction has ended.
func (p wirePlan) AfterTransaction(s statements.Signals) {
	if s&signalMessages != 0 {
		p.db.NoteMessages(waiting.Queues(s>>signalQueues), s&signalPosts != 0)
	}
	if s&signalSemaphores != 0 {
		p.db.NoteSemaphores()
	}
}
