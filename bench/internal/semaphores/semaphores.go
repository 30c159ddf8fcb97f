package semaphores

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"path/filepath"
	"time"

	"github.com/jackc/pgx/v5/pgconn"

	"mbusproxy/bench/internal/rig"
)

const (
	oneName        = "semaphore"
	manyName       = "semaphores"
	slots          = 100 // of the semaphores whose grants are timed
	samples        = 200 // grants timed in one round, for each
	manySemaphores = 5000
	manyClients    = 8
	passWait       = 2 * time.Minute
	fillChunk      = 20000 // tasks enqueued by one statement when filling
)

// tasksWaiting is how many tasks wait in the two semaphores that are compared.
var tasksWaiting = []int{1000, 1000000}

// Result is how soon slots are granted.
type Result struct {
	plain map[int][]time.Duration // by tasks waiting
	held  map[int][]time.Duration // the same while an old snapshot is held, after heldGrants more
	many  []time.Duration         // in many semaphores, all in motion
	rate  float64                 // their grants a second
	burst time.Duration           // one grant in each of them, from one commit
	pass  []time.Duration         // full passes over them, idle
	err   error

	measured bool
}

const heldGrants = 20000

// Bench measures on stacks of its own: one with two semaphores, one with many.
type Bench struct {
	Tools     rig.Tools
	Databases []string // of each stack
	Say       io.Writer
	Wanted    func(cell string) bool
	Rounds    int
	Seconds   int // of one round of the moves

	stack *rig.Stack
}

// Run measures what is wanted. An error is that of ctx; that of a cell is in the Result.
func (b *Bench) Run(ctx context.Context, dir string) (*Result, error) {
	r := &Result{plain: map[int][]time.Duration{}, held: map[int][]time.Duration{}}
	parts := map[string]func(context.Context, *Result) error{oneName: b.timeGrants, manyName: b.timeMany}
	for _, name := range []string{oneName, manyName} {
		if r.err != nil || !b.Wanted(name) {
			continue
		}
		r.measured = true
		fmt.Fprintf(b.Say, "%-28s", name)
		r.err = b.onStack(ctx, filepath.Join(dir, name), func() error { return parts[name](ctx, r) })
		switch {
		case r.err != nil:
			fmt.Fprintf(b.Say, " FAILED: %v", r.err)
		case name == manyName:
			fmt.Fprintf(b.Say, "  %.0f/s, p99 %v", r.rate, rig.Percentile(r.many, 0.99))
		default:
			for _, n := range tasksWaiting {
				fmt.Fprintf(b.Say, "  %d: %v", n, rig.Percentile(r.plain[n], 0.5))
			}
		}
		fmt.Fprintln(b.Say)
	}
	return r, ctx.Err()
}

// onStack runs a part on a stack whose proxy makes a full pass over the semaphores every 5 s and logs it.
func (b *Bench) onStack(ctx context.Context, dir string, part func() error) (err error) {
	b.stack, err = rig.Start(ctx, b.Tools, rig.Options{Dir: dir, Databases: b.Databases, Connections: 100, Flags: []string{"--log-level", "debug", "--semaphore-interval", "5s"}})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, b.stack.Stop()) }()
	return part()
}

func semaphoreKey(waiting int) string { return fmt.Sprint("w", waiting) }

func (b *Bench) fillSemaphores(ctx context.Context) error {
	conn, err := pgconn.Connect(ctx, b.stack.Proxy.DSN())
	if err != nil {
		return fmt.Errorf("filling semaphores: %w", err)
	}
	defer rig.CloseConn(conn)
	for _, n := range tasksWaiting {
		key := semaphoreKey(n)
		texts := []string{fmt.Sprintf("select mbus4.semaphore_get_or_create('%s')", key), fmt.Sprintf("select mbus4.semaphore_update('%s', %d, 0)", key, slots)}
		for from := 0; from < n+slots; from += fillChunk {
			texts = append(texts, fmt.Sprintf("select mbus4.semaphore_enqueue('%s', g, random()) from generate_series(%d, %d) g", key, from+1, min(from+fillChunk, n+slots)))
		}
		for _, text := range texts {
			if _, err := rig.Query(ctx, conn, text); err != nil {
				return err
			}
		}
	}
	_, err = rig.Exec(ctx, b.stack.Direct.DSN(), "vacuum (analyze) mbus4.semaphore_task")
	return err
}

// grantTimer times grants: a running task is released and enqueued again at the end, and another gets its slot.
type grantTimer struct {
	client *pgconn.PgConn // through the proxy
	direct *pgconn.PgConn // to the server, for looking at the tables
}

func (b *Bench) grantTimer(ctx context.Context) (*grantTimer, error) {
	client, err := pgconn.Connect(ctx, b.stack.Proxy.DSN())
	if err != nil {
		return nil, fmt.Errorf("timing grants: %w", err)
	}
	direct, err := pgconn.Connect(ctx, b.stack.Direct.DSN())
	if err != nil {
		rig.CloseConn(client)
		return nil, fmt.Errorf("timing grants: %w", err)
	}
	return &grantTimer{client, direct}, nil
}

func (g *grantTimer) close() {
	rig.CloseConn(g.client)
	rig.CloseConn(g.direct)
}

const runningOf = "from mbus4.semaphore_task t join mbus4.semaphore s on -t.semaphore_id = -s.id where s.key = '%s' and t.status in ('ACQUIRED', 'TRY_RELEASE')"

// eventThere is true when the event of the one grant is there. To look at the running tasks instead
// would cost more than granting does while an old snapshot is held.
const eventThere = "select count(*) = 1 from mbus4.consume('semaphore_events')"

// one times one grant, from the commit that makes room until a query gives true.
func (g *grantTimer) one(ctx context.Context, key string, conn *pgconn.PgConn, granted string) (time.Duration, error) {
	task, err := rig.Query(ctx, g.direct, fmt.Sprintf("select t.task_id "+runningOf+" limit 1", key))
	if err != nil {
		return 0, err
	}
	_, err = rig.Query(ctx, g.client, fmt.Sprintf("begin; select mbus4.semaphore_release('%[1]s', '%[2]s'); select mbus4.semaphore_enqueue('%[1]s', '%[2]s', '%[3]v'); commit",
		key, task, rand.Float64()/2))
	if err != nil {
		return 0, err
	}
	began := time.Now()
	return until(ctx, began, conn, granted)
}

// drain consumes all events there are.
func (g *grantTimer) drain(ctx context.Context) error {
	_, err := rig.Query(ctx, g.client, "select count(*) from mbus4.consumen('semaphore_events', amt => 1000000)")
	return err
}

func until(ctx context.Context, began time.Time, conn *pgconn.PgConn, sql string) (time.Duration, error) {
	for {
		done, err := rig.Query(ctx, conn, sql)
		took := time.Since(began)
		switch {
		case err != nil:
			return 0, err
		case done == "t":
			return took, nil
		case took > time.Minute:
			return 0, fmt.Errorf("INVALID: not within a minute: %s", sql)
		}
	}
}

// timeGrants compares the semaphores, in turns.
func (b *Bench) timeGrants(ctx context.Context, r *Result) error {
	if err := b.fillSemaphores(ctx); err != nil {
		return err
	}
	for range b.Rounds {
		if err := b.timeRound(ctx, r.plain); err != nil {
			return err
		}
	}
	old, err := rig.OpenSnapshot(ctx, b.stack.Direct)
	if err != nil {
		return err
	}
	defer rig.CloseConn(old)
	if err := b.churn(ctx); err != nil {
		return err
	}
	for range b.Rounds {
		if err := b.timeRound(ctx, r.held); err != nil {
			return err
		}
	}
	return nil
}

func (b *Bench) timeRound(ctx context.Context, into map[int][]time.Duration) error {
	g, err := b.grantTimer(ctx)
	if err != nil {
		return err
	}
	defer g.close()
	if err := g.drain(ctx); err != nil {
		return err
	}
	for range samples {
		for _, n := range tasksWaiting {
			took, err := g.one(ctx, semaphoreKey(n), g.client, eventThere)
			if err != nil {
				return err
			}
			into[n] = append(into[n], took)
		}
	}
	return nil
}

// churn has tasks granted and released in the semaphores that are compared.
func (b *Bench) churn(ctx context.Context) error {
	g, err := b.grantTimer(ctx)
	if err != nil {
		return err
	}
	defer g.close()
	for range heldGrants / slots {
		for _, n := range tasksWaiting {
			key := semaphoreKey(n)
			text := fmt.Sprintf("begin; create temp table gone on commit drop as select t.task_id "+runningOf+"; "+
				"select mbus4.semaphore_release('%[1]s', task_id) from gone; select mbus4.semaphore_enqueue('%[1]s', task_id, random() / 2) from gone; commit", key)
			if _, err := rig.Query(ctx, g.client, text); err != nil {
				return err
			}
			if _, err := until(ctx, time.Now(), g.direct, fmt.Sprintf("select count(*) = %d "+runningOf, slots, key)); err != nil {
				return err
			}
		}
	}
	return nil
}
