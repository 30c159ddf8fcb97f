package housekeeping

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"

	"mbusproxy/engine/refusal"
	"mbusproxy/engine/schema"
)

const (
	hintMargin    = 250 * time.Millisecond // how far hints stay behind what seems safe
	leastRise     = time.Second            // a smaller rise where no message is live is not worth the WAL of a setval
	hintSlack     = time.Millisecond       // below a live message, against rounding
	hinterService = "hinter"               // the row of mbus4.service by which one hinter leads
	lowInterval   = 10 * time.Second       // between two looks below the hints
	setBackMargin = 100 * time.Millisecond // by which the server's clock may be slower than ours between two turns
)

// hinter raises the hints, the sequences mbus4.hint_n, from which consuming starts to look: without
// them every consume walks all index entries of messages that are gone but that some old snapshot
// keeps from being vacuumed.
//
// A message below its hint is hidden. So a hint rises to the lowest live message of its consumers,
// and at most to a floor no message can appear below any more. That rests on two things:
//
//   - A message's available_at is at least a clock_timestamp() read together with the nextval of
//     mbus4.post_id that gives its id (hintMargin covers the moment between the two).
//   - nextval locks the sequence until the end of the transaction, prepared or not, and an advisory lock taken before it says
//     for which queue; everybody may see locks. So messages of a queue that are still invisible belong to transactions that
//     hold these locks, and are no older than the last time the holder was not yet seen among them. Those of a consumer that is
//     itself invisible belong to the transaction that makes it, which has drawn the consumer's id from a sequence and so counts
//     for all queues.
//
// The floors are read first, then which queues the consumers are of, then the messages, each with a
// later snapshot: a transaction that held no lock at the first reading has either ended, and what
// it did is visible, or posts later, above the floor.
//
// A clock set back, or sequences restored from a dump of a later moment, break that argument. So
// every ten seconds the hinter looks below the hints and finds what is hidden, and in every turn
// for as long when it sees that the clock was set back.
//
// One hinter per database works at a time: see schema.Lead. What it remembers saves it work only.
type hinter struct {
	// hintMargin and leastRise; tests that want to see the rest work alone take them away.
	margin, leastRise time.Duration

	leads *pgx.Conn       // the connection that has the lead; compared, never used
	hints map[int32]int64 // by slot, in microseconds since 1970, of the slots with consumers
	low   time.Time       // when to look below the hints again
	// readEnd is when the server's clock was read last, by ours; searchTo says until when every
	// turn looks below the hints, for that clock was set back.
	readEnd, searchTo time.Time
	// By slot, the classes of its consumers' queues, read after the floors. Slots below schema.HintSlots are shared.
	classes map[int32]classSet

	// Clients may have any number of consumers (temporary ones) and so make a search long. A turn searches
	// for slice, some slots at once, and the next one goes on behind the slot where it ended; 0: for all.
	slice time.Duration
	after int32         // the slot where the search for higher hints ended
	below []int32       // slots that a look below the hints has not come to yet, in order
	took  time.Duration // that look, so far
	chunk int           // slots searched in one statement

	posters
	work workHint
	// more says that the last turn has given hints out, and the next one may have more to give.
	more bool
	// vain is how long the last turn searched without raising a hint, so that the next one is going to take as long.
	vain time.Duration
}

func newHinter() *hinter { return &hinter{margin: hintMargin, leastRise: leastRise} }

// Tick raises the hints to what is safe, and lowers them where they are wrong. It does nothing while
// another hinter leads; once leading, it does so until conn is closed.
func (h *hinter) Tick(ctx context.Context, conn *pgx.Conn) error {
	h.more = false
	if leads, err := h.lead(ctx, conn); err != nil || !leads {
		return err
	}
	before, began := h.readAt, time.Now()
	now, err := h.read(ctx, conn, postersOfMessages)
	if err != nil {
		return err
	}
	if before > 0 && time.Duration(now-before)*time.Microsecond < began.Sub(h.readEnd)-setBackMargin {
		h.searchTo = time.Now().Add(lowInterval) // what is posted from now on may be below the hints, and visible only later
	}
	h.readEnd = time.Now()
	if err := h.readClasses(ctx, conn); err != nil {
		return err
	}
	reading := time.Since(h.readEnd)
	low := len(h.below) > 0 || !time.Now().Before(h.low) || time.Now().Before(h.searchTo)
	if !low {
		for _, hint := range h.hints {
			low = low || hint > now // the clock was set back
		}
	}
	if low {
		began = time.Now()
		if err := h.lookBelow(ctx, conn, now); err != nil {
			return err
		}
		if h.took += time.Since(began); len(h.below) == 0 {
			h.low = time.Now().Add(max(lowInterval, dutyFactor*h.took))
			h.took = 0
		}
	}
	began = time.Now()
	raised, err := h.raise(ctx, conn)
	if err != nil {
		return err
	}
	if h.vain = time.Since(began); raised {
		h.vain = 0
	}
	if low && len(h.below) == 0 {
		began = time.Now()
		if err := h.giveHints(ctx, conn); err != nil {
			return err
		}
		if !h.more {
			h.low = h.low.Add(dutyFactor * time.Since(began))
		}
	}
	began = time.Now()
	err = h.work.renew(ctx, conn, h.margin, h.leastRise)
	if !low {
		h.vain += time.Since(began)
	}
	h.vain = max(h.vain, reading*backlogFactor/dutyFactor) // who posts all the time has all consumers read all the time
	return err
}

// lead tries to become the one hinter of the database.
func (h *hinter) lead(ctx context.Context, conn *pgx.Conn) (bool, error) {
	if h.leads == conn {
		return true, nil
	}
	h.leads = nil
	leads, err := schema.Lead(ctx, conn, hinterService)
	if leads {
		h.leads, h.hints, h.low, h.below, h.work.known = conn, nil, time.Time{}, nil, false
	}
	return leads, err
}

// postersOfMessages are those who may have posted. Who does not get the lock of a queue's class draws from
// mbus4.message_id, too; who makes a consumer may post to it before anybody sees it.
var postersOfMessages = sequences{any: []string{"mbus4.message_id", "mbus4.consumer_id_seq"}, byClass: "mbus4.post_id"} //nolint:gochecknoglobals // a constant

const readClassesSQL = `
select h.hint::int, bit_or(1::bigint << (pg_catalog.hashtext(c.qname) & ($2::int - 1)))
from mbus4.consumer c
cross join lateral (values (c.id % $1), (c.hint)) h (hint)
where h.hint is not null
group by 1`

func (h *hinter) readClasses(ctx context.Context, conn *pgx.Conn) error {
	h.classes = map[int32]classSet{}
	var slot int32
	var classes int64
	rows, err := conn.Query(ctx, readClassesSQL, schema.HintSlots, queueClasses)
	if err == nil {
		_, err = pgx.ForEachRow(rows, []any{&slot, &classes}, func() error {
			h.classes[slot] = classSet(classes)
			return nil
		})
	}
	if err != nil {
		return fmt.Errorf("reading which queues have consumers: %w", err)
	}
	return nil
}

const readHintsSQL = `
select slot, coalesce(pg_catalog.pg_sequence_last_value(('mbus4.hint_' || slot)::regclass), 0)
from (select distinct coalesce(hint, id % $1) as slot from mbus4.consumer) s
where pg_catalog.to_regclass('mbus4.hint_' || slot) is not null`

// The lowest live message of each slot between the hints (or the beginning) and an end.
const lowestSQL = `
select h.slot, (extract(epoch from min(m.available_at)) * 1000000)::bigint
from unnest($1::int[], $2::bigint[], $3::bigint[]) h (slot, low, high)
join (
	select id, id % $4 as slot from mbus4.consumer
	union all
	select id, hint from mbus4.consumer where hint is not null
) c on c.slot = h.slot
cross join lateral (
	select available_at
	from mbus4.message
	where consumer_id = c.id
	  and available_at >= timestamptz 'epoch' + h.low * interval '1 microsecond'
	  and available_at < timestamptz 'epoch' + h.high * interval '1 microsecond'
	order by available_at, id
	limit 1
) m
group by h.slot`

const setHintsSQL = `
select pg_catalog.setval(('mbus4.hint_' || slot)::regclass, hint)
from unnest($1::int[], $2::bigint[]) h (slot, hint)`

// lookBelow reads the hints afresh and lowers those that hide a message or lie in the future. What it
// leaves is in h.below.
func (h *hinter) lookBelow(ctx context.Context, conn *pgx.Conn, now int64) error {
	ends := time.Now().Add(h.slice)
	if len(h.below) == 0 {
		if err := h.readHints(ctx, conn); err != nil {
			return err
		}
	}
	for len(h.below) > 0 {
		n := h.atOnce(len(h.below))
		var search, lower searches
		for _, slot := range h.below[:n] {
			search.add(slot, 0, h.hints[slot])
		}
		found, err := h.search(ctx, conn, &search)
		if err != nil {
			return err
		}
		for _, slot := range search.slots {
			hint := h.hints[slot]
			to := hint
			if hint > now {
				to = h.safe(slot)
			}
			if at, ok := found[slot]; ok {
				to = min(to, at)
			}
			if to = max(to, 0); to < hint {
				lower.add(slot, to, 0)
			}
		}
		if err := h.set(ctx, conn, lower); err != nil {
			return err
		}
		if h.below = h.below[n:]; h.slice > 0 && !time.Now().Before(ends) {
			break
		}
	}
	return nil
}

// readHints reads the hints, and notes which of them may be too high: all that there are.
func (h *hinter) readHints(ctx context.Context, conn *pgx.Conn) error {
	hints := map[int32]int64{}
	var slot int32
	var hint int64
	rows, err := conn.Query(ctx, readHintsSQL, schema.HintSlots)
	if err == nil {
		_, err = pgx.ForEachRow(rows, []any{&slot, &hint}, func() error {
			hints[slot] = hint
			return nil
		})
	}
	if err != nil {
		return fmt.Errorf("reading hints: %w", err)
	}
	h.hints = hints
	for slot, hint := range hints {
		if hint > 0 {
			h.below = append(h.below, slot)
		}
	}
	slices.Sort(h.below)
	return nil
}

// raise moves each hint up to the lowest live message, or to where no message can appear below any
// more. raised says that one was moved.
func (h *hinter) raise(ctx context.Context, conn *pgx.Conn) (raised bool, err error) {
	ends := time.Now().Add(h.slice)
	slots := slices.Sorted(maps.Keys(h.hints))
	first, _ := slices.BinarySearch(slots, h.after+1)
	slots = slices.Concat(slots[first:], slots[:first])
	for len(slots) > 0 {
		n := h.atOnce(len(slots))
		var search, higher searches
		for _, slot := range slots[:n] {
			if safe := h.safe(slot); safe > h.hints[slot] {
				search.add(slot, h.hints[slot], safe)
			}
		}
		found, err := h.search(ctx, conn, &search)
		if err != nil {
			return raised, err
		}
		for i, slot := range search.slots {
			to, ok := found[slot]
			least := int64(0) // thousands of messages may have been posted within a moment
			if !ok {
				to, least = search.highs[i], h.leastRise.Microseconds()
			}
			if to-h.hints[slot] > least {
				higher.add(slot, to, 0)
			}
		}
		if err := h.set(ctx, conn, higher); err != nil {
			return raised, err
		}
		raised = raised || len(higher.slots) > 0
		h.after, slots = slots[n-1], slots[n:]
		if h.slice > 0 && !time.Now().Before(ends) {
			break
		}
	}
	return raised, nil
}

// atOnce is how many of so many slots one statement searches.
func (h *hinter) atOnce(slots int) int {
	if h.slice == 0 || h.chunk == 0 {
		return slots
	}
	return min(h.chunk, slots)
}

// search searches, and adapts to how long that has taken how much the next statement does.
func (h *hinter) search(ctx context.Context, conn *pgx.Conn, what *searches) (map[int32]int64, error) {
	began := time.Now()
	found, err := what.run(ctx, conn)
	took, n := time.Since(began), max(len(what.slots), 1)
	switch {
	case h.slice == 0:
	case refusal.SQLState(err) == refusal.QueryCanceled, took > h.slice/2:
		h.chunk = max(n/4, 1)
	case took < h.slice/8 && h.chunk > 0:
		if h.chunk *= 2; h.chunk > maxHints {
			h.chunk = 0
		}
	}
	return found, err
}

// safe is the floor of the slot's consumers with its margin: nothing will appear below.
func (h *hinter) safe(slot int32) int64 {
	classes, known := h.classes[slot]
	if !known {
		classes = allClasses
	}
	return h.floor(classes) - h.margin.Microseconds()
}

func (h *hinter) set(ctx context.Context, conn *pgx.Conn, to searches) error {
	if len(to.slots) == 0 {
		return nil
	}
	if _, err := conn.Exec(ctx, setHintsSQL, to.slots, to.lows); err != nil {
		return fmt.Errorf("setting hints: %w", err)
	}
	for i, slot := range to.slots {
		h.hints[slot] = to.lows[i]
	}
	return nil
}

// searches are, by slot, ranges of time in microseconds since 1970; for set, lows are the new hints
// and highs are not used.
type searches struct {
	slots       []int32
	lows, highs []int64
}

func (s *searches) add(slot int32, low, high int64) {
	s.slots = append(s.slots, slot)
	s.lows = append(s.lows, low)
	s.highs = append(s.highs, high)
}

// run gives, by slot, a time just below the lowest live message in the range, where there is one.
func (s *searches) run(ctx context.Context, conn *pgx.Conn) (map[int32]int64, error) {
	found := map[int32]int64{}
	if len(s.slots) == 0 {
		return found, nil
	}
	var slot int32
	var at int64
	rows, err := conn.Query(ctx, lowestSQL, s.slots, s.lows, s.highs, schema.HintSlots)
	if err == nil {
		_, err = pgx.ForEachRow(rows, []any{&slot, &at}, func() error {
			found[slot] = at - hintSlack.Microseconds()
			return nil
		})
	}
	if err != nil {
		return nil, fmt.Errorf("looking for the first messages: %w", err)
	}
	return found, nil
}
