package housekeeping

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"mbusproxy/engine/admin"
	"mbusproxy/engine/internal/enginetest"
	"mbusproxy/engine/schema"
)

func TestHintRises(t *testing.T) {
	t.Parallel()
	q := newQueue(t)
	before := q.hint(t)
	q.busy(t, "a")
	middle := q.hint(t)
	if middle <= before {
		t.Errorf("hint did not rise: %d, then %d", before, middle)
	}
	// A live message holds it.
	q.post(t, q.conn, "live")
	at := enginetest.One[int64](t, q.conn, "select (extract(epoch from available_at) * 1000000)::bigint from mbus4.message")
	for range 5 {
		q.tick(t)
		if now := q.hint(t); now > at || now < middle {
			t.Errorf("hint %d, want from %d up to the live message at %d", now, middle, at)
		}
	}
	if got := q.consume(t, q.conn); got != "live" {
		t.Errorf("consumed %q", got)
	}
	q.tick(t)
	if now := q.hint(t); now <= at {
		t.Errorf("hint %d, want above the consumed message at %d", now, at)
	}
}

// What an open transaction posted must be found after its commit, however far the others are.
func TestHintWaitsForOpenPoster(t *testing.T) {
	t.Parallel()
	ways := map[string]struct {
		post   func(t *testing.T, q *queue, poster *pgx.Conn)
		commit string
	}{
		"plain": {
			post: func(t *testing.T, q *queue, poster *pgx.Conn) {
				enginetest.Exec(t, poster, "begin")
				q.post(t, poster, "late")
				q.busy(t, "a")
			},
			commit: "commit",
		},
		"idle before it posts": {
			post: func(t *testing.T, q *queue, poster *pgx.Conn) {
				enginetest.Exec(t, poster, "begin isolation level repeatable read")
				enginetest.Exec(t, poster, "select count(*) from mbus4.message")
				q.busy(t, "a")
				q.post(t, poster, "late")
				q.busy(t, "b")
			},
			commit: "commit",
		},
		"after a savepoint rolled back": {
			post: func(t *testing.T, q *queue, poster *pgx.Conn) {
				enginetest.Exec(t, poster, "begin")
				enginetest.Exec(t, poster, "savepoint s")
				q.post(t, poster, "never")
				q.busy(t, "a")
				enginetest.Exec(t, poster, "rollback to s")
				q.post(t, poster, "late")
				q.busy(t, "b")
			},
			commit: "commit",
		},
		"prepared while the hinter looks": {
			post: func(t *testing.T, q *queue, poster *pgx.Conn) {
				enginetest.Exec(t, poster, "begin")
				q.post(t, poster, "late")
				q.busy(t, "a")
				enginetest.Exec(t, poster, "prepare transaction 'late'")
				q.busy(t, "b")
			},
			commit: "commit prepared 'late'",
		},
		"prepared unseen": {
			post: func(t *testing.T, q *queue, poster *pgx.Conn) {
				q.busy(t, "a")
				enginetest.Exec(t, poster, "begin")
				q.post(t, poster, "late")
				enginetest.Exec(t, poster, "prepare transaction 'unseen'")
				q.busy(t, "b")
			},
			commit: "commit prepared 'unseen'",
		},
		"another hinter takes over": {
			post: func(t *testing.T, q *queue, poster *pgx.Conn) {
				enginetest.Exec(t, poster, "begin")
				q.post(t, poster, "late")
				q.busy(t, "a")
				admin.Close(context.Background(), q.hinting)
				q.newHinter(t, enginetest.DSN(q.database))
				q.busy(t, "b")
			},
			commit: "commit",
		},
		"another hinter that may not see activity": {
			post: func(t *testing.T, q *queue, poster *pgx.Conn) {
				dsn := enginetest.PlainOwner(t, q.database)
				enginetest.Exec(t, poster, "begin")
				q.post(t, poster, "late")
				admin.Close(context.Background(), q.hinting)
				q.newHinter(t, dsn)
				q.busy(t, "b")
			},
			commit: "commit",
		},
		"another hinter finds it prepared": {
			post: func(t *testing.T, q *queue, poster *pgx.Conn) {
				enginetest.Exec(t, poster, "begin")
				q.post(t, poster, "late")
				enginetest.Exec(t, poster, "prepare transaction 'found'")
				admin.Close(context.Background(), q.hinting)
				q.newHinter(t, enginetest.DSN(q.database))
				q.busy(t, "b")
			},
			commit: "commit prepared 'found'",
		},
	}
	for name, way := range ways {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			q := newQueue(t)
			poster := enginetest.Connect(t, q.database)
			way.post(t, q, poster)
			enginetest.Exec(t, poster, way.commit)
			q.tick(t)
			if got := q.consume(t, q.conn); got != "late" {
				t.Errorf("consumed %q: the message is hidden", got)
			}
			before := q.hint(t)
			q.busy(t, "c")
			if q.hint(t) <= before {
				t.Error("the hint does not rise any more")
			}
		})
	}
}

// Whatever the order of posts, commits and rollbacks, nothing is left hidden.
func TestHintUnderLoad(t *testing.T) {
	t.Parallel()
	q := newQueue(t)
	const posters, rounds = 6, 60
	var posting, all sync.WaitGroup
	var mu sync.Mutex
	posted, consumed := map[string]bool{}, map[string]bool{}
	for p := range posters {
		conn := enginetest.Connect(t, q.database)
		random := rand.New(rand.NewPCG(uint64(p), 1))
		posting.Go(func() {
			for i := range rounds {
				iid := fmt.Sprintf("%d.%d", p, i)
				enginetest.Exec(t, conn, "begin")
				q.post(t, conn, iid)
				enginetest.Exec(t, conn, "select pg_sleep($1)", random.Float64()/20)
				if random.IntN(4) == 0 {
					enginetest.Exec(t, conn, "rollback")
					continue
				}
				enginetest.Exec(t, conn, "commit")
				mu.Lock()
				posted[iid] = true
				mu.Unlock()
			}
		})
	}
	done := make(chan struct{})
	for range 2 {
		conn := enginetest.Connect(t, q.database)
		all.Go(func() {
			for {
				if iid := q.consume(t, conn); iid != "" {
					mu.Lock()
					consumed[iid] = true
					mu.Unlock()
					continue
				}
				select {
				case <-done:
					return
				default:
				}
			}
		})
	}
	all.Go(func() {
		for {
			select {
			case <-done:
				return
			default:
				q.tick(t)
			}
		}
	})
	posting.Wait()
	close(done)
	all.Wait()
	for iid := q.consume(t, q.conn); iid != ""; iid = q.consume(t, q.conn) {
		consumed[iid] = true
	}
	for iid := range posted {
		if !consumed[iid] {
			t.Errorf("message %s was posted and is hidden", iid)
		}
	}
	if len(posted) == 0 || len(consumed) != len(posted) {
		t.Errorf("posted %d, consumed %d", len(posted), len(consumed))
	}
}

func TestHintLowered(t *testing.T) {
	t.Parallel()
	q := newQueue(t)
	q.busy(t, "a")
	enginetest.Exec(t, q.conn, `insert into mbus4.message (id, consumer_id, available_at, added, iid)
		select nextval('mbus4.post_id'), $1, now() - interval '1 day', now(), 'early'`, q.consumer)
	q.tick(t)
	if got := q.consume(t, q.conn); got != "" {
		t.Fatalf("consumed %q: the hint has no effect", got)
	}
	q.hinter.low = time.Time{} // ten seconds have passed
	q.tick(t)
	if got := q.consume(t, q.conn); got != "early" {
		t.Errorf("consumed %q, want the message below the hint", got)
	}
}

// A clock that was set back, though not behind the hints, is seen by the time that has passed.
func TestHintAfterClockSetBack(t *testing.T) {
	t.Parallel()
	q := newQueue(t)
	q.busy(t, "a")
	q.tick(t)
	q.hinter.readAt += (2 * time.Second).Microseconds() // the clock was two seconds ahead
	enginetest.Exec(t, q.conn, `insert into mbus4.message (id, consumer_id, available_at, added, iid)
		select nextval('mbus4.post_id'), $1, now() - interval '1 day', now(), 'early'`, q.consumer)
	q.tick(t)
	if got := q.consume(t, q.conn); got != "early" {
		t.Errorf("consumed %q, want the message below the hint", got)
	}
	// One that becomes visible later is found as well.
	enginetest.Exec(t, q.conn, `insert into mbus4.message (id, consumer_id, available_at, added, iid)
		select nextval('mbus4.post_id'), $1, now() - interval '1 day', now(), 'late'`, q.consumer)
	q.tick(t)
	if got := q.consume(t, q.conn); got != "late" {
		t.Errorf("consumed %q, want the message below the hint", got)
	}
	q.hinter.searchTo = time.Time{}
	q.tick(t)
}

func TestHintInTheFuture(t *testing.T) {
	t.Parallel()
	q := newQueue(t)
	slot := q.consumer % schema.HintSlots
	future := time.Now().Add(time.Hour).UnixMicro() // the clock was an hour ahead
	enginetest.Exec(t, q.conn, "select setval($1::regclass, $2)", fmt.Sprintf("mbus4.hint_%d", slot), future)
	q.hinter.hints[int32(slot)] = future
	q.post(t, q.conn, "now")
	q.tick(t)
	if got := q.consume(t, q.conn); got != "now" {
		t.Errorf("consumed %q", got)
	}
}

func TestHintersTakeTurns(t *testing.T) {
	t.Parallel()
	q := newQueue(t)
	other := &hinter{}
	conn := enginetest.Connect(t, q.database)
	for range 3 {
		if err := other.Tick(enginetest.Context(t), conn); err != nil {
			t.Fatal(err)
		}
	}
	if other.leads != nil || other.readAt != 0 {
		t.Error("two Hinters work at once")
	}
	admin.Close(context.Background(), q.hinting)
	enginetest.Eventually(t, "the other takes over", func() bool {
		if err := other.Tick(enginetest.Context(t), conn); err != nil {
			t.Fatal(err)
		}
		return other.leads == conn
	})
}

// 100,000 dead rows that an old snapshot keeps: without the hint every consume walks them all.
func TestHintSparesDeadRows(t *testing.T) {
	t.Parallel()
	q := newQueue(t)
	const dead = 100_000
	enginetest.Exec(t, q.conn, `insert into mbus4.message (id, consumer_id, available_at, added, iid, data)
		select nextval('mbus4.post_id'), $1, clock_timestamp(), now(), 'i' || n, hstore('n', n::text)
		from generate_series(1, $2::int) n`, q.consumer, dead)
	old := enginetest.Connect(t, q.database)
	enginetest.Exec(t, old, "begin isolation level repeatable read")
	if n := enginetest.One[int](t, old, "select count(*) from mbus4.message"); n != dead {
		t.Fatalf("%d messages", n)
	}
	enginetest.Exec(t, q.conn, "delete from mbus4.message")
	for i := range 10 {
		q.post(t, q.conn, fmt.Sprint("live", i))
	}
	without := q.buffers(t)
	began := time.Now()
	q.tick(t)
	took := time.Since(began)
	with := q.buffers(t)
	t.Logf("buffers of one consume: %d without the hint, %d with it; the tick took %v", without, with, took)
	if without < 1000 || with > 60 {
		t.Errorf("%d buffers without the hint, %d with it; want over 1000 and at most 60", without, with)
	}
	// The next search finds nothing to raise, and for as long as it takes the hinter rests.
	if raised, err := q.hinter.raise(enginetest.Context(t), q.hinting); err != nil || raised {
		t.Errorf("raised again: %t, %v", raised, err)
	}
	q.hinter.vain = 0
	if q.tick(t); q.hinter.vain == 0 {
		t.Error("a search in vain is not counted")
	}
	if got := q.consume(t, q.conn); got != "live0" {
		t.Errorf("consumed %q", got)
	}
}
