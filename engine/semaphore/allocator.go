package semaphore

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"

	"mbusproxy/engine/calls"
	"mbusproxy/engine/schema"
)

const (
	turnSemaphores  = 500                    // looked at in one turn
	turnGrants      = 1000                   // grants and requests in one transaction
	passAtLeast     = 50                     // semaphores of a full pass looked at in one turn
	passTurn        = 20 * time.Millisecond  // what a turn may take longer for them, about
	passDuty        = 5                      // a pass rests this many times as long as it worked
	mostRemembered  = 1 << 18                // running tasks in memory, of which a semaphore counts
	slotsSize       = 8                      // so many
	mostRunning     = 100_000                // slots that a semaphore gives at a time, whatever its limit
	mostChanged     = 1 << 17                // semaphores that are to be looked at, before all are
	mostFollowed    = 5000                   // entries of the log read at once
	mostTasks       = 20_000                 // and tasks that they name
	mostFresh       = 200                    // of a semaphore: see slots
	countInterval   = time.Second            // between two looks at the tables' counters
	quietEnough     = 3 * time.Second        // after a change: counters that move now tell of direct writes
	busyInterval    = 50 * time.Millisecond  // until rows that were locked are tried again
	discardInterval = time.Minute            // between two looks for entries that nobody is to read
	discardDuty     = 20                     // it rests this many times as long as it worked
	leadInterval    = 150 * time.Millisecond // between two questions whether the one that leads is gone
	granterService  = "granter"              // the row of mbus4.service by which one leads
	grantChannel    = "mbus4_semaphore"      // for NOTIFY among Granters
)

// allocator gives the slots of semaphores to the tasks that wait and asks running ones to leave.
//
// One allocator per database works at a time: its session has the lead for as long as it lives
// (schema.Lead), and its transactions end with the session. So no slot is granted twice, and what
// it remembers is true. It follows the log of changes that the calls write, transaction by
// transaction: everything visible in one snapshot and not in the one before. So neither a long
// transaction nor an old snapshot makes it read anything twice.
//
// It remembers the running tasks of the semaphores it has looked at, and where their waiting ones begin.
// Reading those from the table would mean to walk, under an old snapshot, all index entries of tasks that
// were granted or have left since. What it remembers is only where to look: a row's status is checked, and
// the row locked, when it is changed. It never waits for a lock: a row that somebody holds is
// skipped and tried again soon.
//
// A full pass reads everything afresh: at the beginning, each interval, and when the tables' counters move
// without an entry in the log, which means that somebody wrote to the tables directly.
type allocator struct {
	texts    *calls.Texts
	sql      statements    // empty: not filled in yet
	interval time.Duration // between two full passes

	leads *pgx.Conn // the connection that has the lead; compared, never used
	term  int64     // of mbus4.semaphore_term, 0: what is remembered is void

	refusedAt time.Time // when another one led

	seen    string              // the snapshot up to which the log was read
	known   map[int32]*slots    // by semaphore
	size    int                 // running tasks in known, about
	changed map[int32]struct{}  // semaphores to look at
	busy    map[int32]time.Time // those with locked rows, and when to look again

	// For how long grants take: due is since when a semaphore may have something to grant that the
	// log has told of and that has not been granted.
	due        map[int32]time.Time
	followedAt time.Time // before the log was last read
	notedAt    time.Time // when the first transaction of this proxy has ended that the log was not read after; zero: none is known

	passing   bool // a full pass is under way
	passAgain bool // and another one is to follow
	passFrom  int32
	passSize  int
	passCount int
	passWork  time.Duration
	passedAt  time.Time // when the last one began
	passRest  time.Time // and when the next one may

	discardAt time.Time // when to look for entries of the log that nobody is to read

	counted   int64 // the counters
	countedAt time.Time
	quietFrom time.Time // last change seen or made
}

func newAllocator(interval time.Duration) *allocator {
	g := &allocator{texts: calls.New(), interval: interval}
	g.forget()
	return g
}

// turned is what one turn of an allocator did.
type turned struct {
	Leads   bool // this is the one that works
	Changes int  // entries of the log read
	Granted int
	Asked   int
	After   []time.Duration // how long grants have taken, as far as that is known
	More    bool            // there is more to do at once
	Passed  int             // semaphores of the full pass that has ended; 0: none has
	Took    time.Duration   // of that pass, other work included
	Busy    bool            // locked rows are to be tried again
}

// Turn takes one turn, which is short: several may be needed, see turned.More. It does nothing while
// another one leads. After an error what is remembered is void.
func (g *allocator) Turn(ctx context.Context, conn *pgx.Conn) (turned, error) {
	out, err := g.turn(ctx, conn)
	if err != nil {
		g.forget()
	}
	return out, err
}

func (g *allocator) turn(ctx context.Context, conn *pgx.Conn) (out turned, err error) {
	if out.Leads, err = g.lead(ctx, conn); err != nil || !out.Leads {
		return out, err
	}
	var behind bool
	if out.Changes, behind, err = g.follow(ctx, conn); err != nil {
		return out, err
	}
	if err := g.discard(ctx, conn); err != nil {
		return out, err
	}
	if err := g.watch(ctx, conn); err != nil {
		return out, err
	}
	now := time.Now()
	for id, at := range g.busy {
		if !now.Before(at) {
			g.changed[id] = struct{}{}
			delete(g.busy, id)
		}
	}
	ids := make([]int32, 0, len(g.changed))
	for id := range g.changed {
		if len(ids) == turnSemaphores {
			break
		}
		ids = append(ids, id)
		delete(g.changed, id)
	}
	more, err := g.nextOfPass(ctx, conn, max(turnSemaphores-len(ids), 1))
	if err != nil {
		return out, err
	}
	for _, id := range more {
		delete(g.known, id)
	}
	ids = append(ids, more...)
	slices.Sort(ids)
	ids = slices.Compact(ids)
	if err := g.serve(ctx, conn, ids, &out); err != nil {
		return out, err
	}
	g.pace(time.Since(now), len(more))
	if g.passCount += len(more); !g.passing && g.passCount > 0 {
		out.Passed, out.Took = g.passCount, time.Since(g.passedAt)
		g.passCount = 0
	}
	out.More = len(g.changed) > 0 || g.passing || behind
	out.Busy = len(g.busy) > 0
	if out.Changes+out.Granted+out.Asked > 0 {
		g.quietFrom = time.Now()
	}
	return out, nil
}

// serve brings the semaphores up to date.
func (g *allocator) serve(ctx context.Context, conn *pgx.Conn, ids []int32, out *turned) error {
	if len(ids) == 0 {
		return nil
	}
	if err := g.load(ctx, conn, ids); err != nil {
		return err
	}
	fronts, err := g.fronts(ctx, conn, ids, out)
	if err != nil {
		return err
	}
	if err := g.addRivals(ctx, conn, fronts); err != nil {
		return err
	}
	var o orders
	for _, f := range fronts {
		if f.skipped {
			continue
		}
		active := min(f.active, max(mostRunning, len(f.slots.running)))
		grant, ask := decide(active, f.tryRelease, f.slots.running, f.waiting, f.slots.busy)
		if room := turnGrants - o.size(); len(grant)+len(ask) > room {
			grant, ask = grant[:min(len(grant), room)], ask[:min(len(ask), room)]
			g.changed[f.id] = struct{}{}
		}
		f.given = len(grant)
		o.add(f, grant, ask)
	}
	if o.size() > 0 {
		if err := g.give(ctx, conn, &o, out); err != nil {
			return err
		}
	}
	for _, f := range fronts {
		g.settleFront(f)
	}
	g.settleDue(ids)
	return nil
}

// settleFront notes where the waiting tasks of a semaphore begin now, and whether to look at it again.
func (g *allocator) settleFront(f *front) {
	s := f.slots
	s.busy = f.refused
	if f.skipped || len(f.refused) > 0 {
		g.busy[f.id] = time.Now().Add(busyInterval)
	}
	if len(f.refused) > 0 && f.given+len(f.chosen) > 0 {
		g.changed[f.id] = struct{}{} // the slot is for the next one, then
	}
	s.floor = f.nextFloor()
	more := f.given+f.granted > 0 && f.given == len(f.waiting) && !f.whole
	if more || f.given > 0 && f.given < len(f.waiting) && f.displaces(f.given) {
		g.changed[f.id] = struct{}{}
	}
	if len(s.running) == 0 && s.floor == lastPlace && len(s.fresh) == 0 || g.full() {
		delete(g.known, f.id)
	}
	if len(g.known) == 0 {
		g.size = 0
	}
}

// full reports whether more is remembered than may be. g.size says no less than there is, and is counted again then.
func (g *allocator) full() bool {
	if g.size <= mostRemembered {
		return false
	}
	g.size = 0
	for _, s := range g.known {
		g.size += slotsSize + len(s.running)
	}
	return g.size > mostRemembered
}

// forget makes everything that is remembered void.
func (g *allocator) forget() {
	g.leads, g.term, g.seen, g.size = nil, 0, "", 0
	g.known, g.changed, g.busy, g.due = map[int32]*slots{}, map[int32]struct{}{}, map[int32]time.Time{}, map[int32]time.Time{}
	g.followedAt = time.Time{}
	g.passing, g.passAgain, g.passedAt, g.passRest = false, false, time.Time{}, time.Time{}
	g.countedAt, g.discardAt = time.Time{}, time.Time{}
}

// lead tries to become the one allocator that works in the database.
func (g *allocator) lead(ctx context.Context, conn *pgx.Conn) (bool, error) {
	if g.leads == conn {
		return true, nil
	}
	g.leads = nil
	if time.Since(g.refusedAt) < leadInterval {
		return false, nil
	}
	if leads, err := schema.Lead(ctx, conn, granterService); err != nil || !leads {
		g.refusedAt = time.Now()
		return false, err
	}
	g.refusedAt = time.Time{}
	if _, err := conn.Exec(ctx, "listen "+grantChannel); err != nil {
		return false, fmt.Errorf("listening to other proxies: %w", err)
	}
	var term int64
	err := conn.QueryRow(ctx, `select case when is_called then last_value else 0 end from mbus4.semaphore_term`).Scan(&term)
	if err != nil {
		return false, fmt.Errorf("reading who led: %w", err)
	}
	if g.term == 0 || g.term != term {
		if err := g.beginTerm(ctx, conn); err != nil {
			return false, err
		}
	}
	g.leads = conn
	return true, nil
}

// A full pass follows, so whatever the log says now is of no use, and nobody reads it: see discard.
const beginTermSQL = `select pg_catalog.nextval('mbus4.semaphore_term'), pg_catalog.pg_current_snapshot()::text`

func (g *allocator) beginTerm(ctx context.Context, conn *pgx.Conn) error {
	g.forget()
	if err := conn.QueryRow(ctx, beginTermSQL).Scan(&g.term, &g.seen); err != nil {
		return fmt.Errorf("beginning to lead: %w", err)
	}
	return nil
}
