package semaphore_test

import (
	"errors"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"mbusproxy/engine"
	"mbusproxy/engine/internal/enginetest"
	"mbusproxy/engine/internal/served"
	"mbusproxy/engine/refusal"
	"mbusproxy/engine/semaphore"
)

const (
	chaosClients = 8
	chaosEngines = 3
	chaosTime    = 5 * time.Second
	chaosOps     = 500 // on a busy machine it goes on for so many, up to
	chaosLimit   = 15 * time.Second
	chaosTasks   = 60
)

// auditSQL makes the server itself note each grant and each request, in the transaction that makes it: with
// what it changed, how many run then, and how many may. It also refuses nothing, so nothing is hidden.
const auditSQL = `
create table audit (semaphore_id int, task_id bigint, status mbus4.semaphore_status, was mbus4.semaphore_status, running bigint, active int);
create function audit() returns trigger language plpgsql as $$
begin
	insert into public.audit
	select new.semaphore_id, new.task_id, new.status, old.status,
	       (select count(*) from mbus4.semaphore_task t where t.semaphore_id = new.semaphore_id and t.status <> 'WAIT'),
	       (select s.active from mbus4.semaphore s where s.id = new.semaphore_id);
	return null;
end $$;
create trigger audit after update of status on mbus4.semaphore_task for each row execute function audit()`

// chaos is a test in which clients and engines come and go.
type chaos struct {
	*testing.T
	name  string
	keys  []string
	began time.Time
	ops   atomic.Int64
	ends  atomic.Int64 // of engines and their sessions
}

// Whatever clients do and however engines end: never more than active run after a grant, every grant and
// every request has exactly one event, and at rest the best ones run.
func TestSemaphoreChaos(t *testing.T) {
	t.Parallel()
	c := &chaos{T: t, name: enginetest.Installed(t), keys: []string{"a", "b", "c"}}
	conn := enginetest.Connect(t, c.name)
	for _, key := range c.keys {
		calls := semaphore.New(conn)
		if _, err := calls.GetOrCreate(enginetest.Context(t), key); err != nil {
			t.Fatal(err)
		}
		if err := calls.Update(enginetest.Context(t), key, 5, 3); err != nil {
			t.Fatal(err)
		}
	}
	enginetest.Exec(t, conn, auditSQL)
	c.began = time.Now()
	var wg sync.WaitGroup
	for i := range chaosClients {
		wg.Go(func() { c.client(uint64(i)) })
	}
	for i := range chaosEngines {
		wg.Go(func() { c.engine(uint64(i)) })
	}
	wg.Go(c.terminate)
	wg.Go(c.observe)
	wg.Wait()

	e := served.Open(t, engine.Options{})
	if _, err := e.Database(enginetest.Context(t), c.name); err != nil {
		t.Fatal(err)
	}
	c.rest(conn)
	e.Close()
	c.checkAudit(conn)
	grants := enginetest.One[int](t, conn, `select count(*) from audit where status = 'ACQUIRED'`)
	asks := enginetest.One[int](t, conn, `select count(*) from audit where status = 'TRY_RELEASE'`)
	t.Logf("%d operations, %d ends of engines and sessions, %d grants, %d requests", c.ops.Load(), c.ends.Load(), grants, asks)
	if grants == 0 {
		t.Error("nothing happened")
	}
}

func (c *chaos) over() bool {
	took := time.Since(c.began)
	return took > chaosLimit || took > chaosTime && c.ops.Load() >= chaosOps
}

// client does what clients do, in transactions of one to three calls that may be rolled back.
func (c *chaos) client(seed uint64) {
	random := rand.New(rand.NewPCG(seed, 7))
	conn := enginetest.Connect(c.T, c.name)
	enginetest.Exec(c.T, conn, "set deadlock_timeout = '20ms'")
	for !c.over() {
		tx, err := conn.Begin(enginetest.Context(c.T))
		if err != nil {
			c.Error(err)
			return
		}
		calls := semaphore.New(tx)
		for range 1 + random.IntN(3) {
			key, task := c.keys[random.IntN(len(c.keys))], random.Int64N(chaosTasks)
			switch random.IntN(20) {
			case 0:
				active := random.IntN(8)
				err = calls.Update(enginetest.Context(c.T), key, active, random.IntN(active+1))
			case 1, 2, 3, 4, 5, 6:
				if random.IntN(4) > 0 { // one that runs
					task = enginetest.One[int64](c.T, conn, semaphore.RunningTaskSQL, key, task)
				}
				err = calls.Release(enginetest.Context(c.T), key, task)
			default:
				err = calls.Enqueue(enginetest.Context(c.T), key, task, float64(random.IntN(5)))
			}
			c.ops.Add(1)
			if err != nil {
				break
			}
		}
		switch {
		case refusal.SQLState(err) == "40P01": // deadlock_detected: among clients, who change rows in any order
			err = tx.Rollback(enginetest.Context(c.T))
		case err != nil:
		case random.IntN(5) == 0:
			err = tx.Rollback(enginetest.Context(c.T))
		default:
			err = tx.Commit(enginetest.Context(c.T))
		}
		if err != nil {
			c.Error(err)
			return
		}
	}
}

// engine opens and closes engines.
func (c *chaos) engine(seed uint64) {
	random := rand.New(rand.NewPCG(seed, 8))
	for !c.over() {
		e, err := engine.Open(enginetest.Context(c.T), engine.Options{AdminDSN: enginetest.DSN("postgres")})
		if err != nil {
			c.Error(err)
			return
		}
		for range 5 + random.IntN(30) {
			db, err := e.Database(enginetest.Context(c.T), c.name)
			var refused *refusal.Error
			if errors.As(err, &refused) && refused.Code == "57P01" { // admin_shutdown: its session was ended
				break
			}
			if err != nil {
				c.Error(err)
				break
			}
			db.NoteSemaphores()
			semaphore.Sleep(enginetest.Context(c.T), time.Duration(random.IntN(80))*time.Millisecond)
		}
		e.Close()
		c.ends.Add(1)
	}
}

// terminate ends sessions of engines, in whatever they are doing.
func (c *chaos) terminate() {
	conn := enginetest.Connect(c.T, c.name)
	for !c.over() {
		enginetest.Exec(c.T, conn, `select pg_terminate_backend(pid) from pg_stat_activity
			where datname = current_database() and application_name = 'mbusproxy' order by random() limit 1`)
		c.ends.Add(1)
		semaphore.Sleep(enginetest.Context(c.T), 300*time.Millisecond)
	}
}

// observe looks from outside: no more run than may ever run.
func (c *chaos) observe() {
	conn := enginetest.Connect(c.T, c.name)
	for !c.over() {
		semaphore.Sleep(enginetest.Context(c.T), 5*time.Millisecond)
		if n := enginetest.One[int](c.T, conn, `select coalesce(max(n), 0) from (
			select count(*) as n from mbus4.semaphore_task where status <> 'WAIT' group by semaphore_id) s`); n > 7 {
			c.Errorf("%d tasks run at once", n)
		}
	}
}

// rest releases those that are asked to, until nothing is left to do.
func (c *chaos) rest(conn *pgx.Conn) {
	ctx, limit := enginetest.Context(c.T), time.Now().Add(3*time.Minute)
	calls := semaphore.New(conn)
	for _, key := range c.keys {
		for {
			var active, tryRelease int
			if err := conn.QueryRow(ctx, `select active, try_release from mbus4.semaphore where key = $1`, key).Scan(&active, &tryRelease); err != nil {
				c.Fatal(err)
			}
			running, waiting := semaphore.ReadTasks(c.T, conn, key)
			asked := slices.IndexFunc(running, func(t semaphore.SlotTask) bool { return t.Asked() })
			problem := semaphore.Unrest(active, tryRelease, running, waiting)
			if problem == "" && asked < 0 {
				break
			}
			if time.Now().After(limit) {
				c.Fatalf("semaphore %s never rests: %s; running %+v, waiting %+v", key, problem, running, waiting)
			}
			if asked >= 0 {
				if err := calls.Release(ctx, key, running[asked].ID()); err != nil {
					c.Fatal(err)
				}
			}
			semaphore.Sleep(ctx, 5*time.Millisecond)
		}
	}
}

// checkAudit compares what the server noted with the rules and with the events.
func (c *chaos) checkAudit(conn *pgx.Conn) {
	for what, sql := range map[string]string{
		"grants beyond the limit": `select coalesce(string_agg(a::text, ' '), '') from audit a where status = 'ACQUIRED' and running > active`,
		"illegal changes": `select coalesce(string_agg(a::text, ' '), '') from audit a
			where (was, status) not in (('WAIT', 'ACQUIRED'), ('ACQUIRED', 'TRY_RELEASE'))`,
		"changes without their event, or events without their change": `
			select coalesce(string_agg(d::text, ' '), '') from (
				(select s.key, a.task_id::text, case a.status when 'ACQUIRED' then 'Acquired' else 'TryRelease' end as event, count(*)
				 from audit a join mbus4.semaphore s on s.id = a.semaphore_id group by 1, 2, 3)
				except all
				(select m.data->'semaphore_key', m.data->'task_id', m.data->'event', count(*)
				 from mbus4.message m join mbus4.consumer c on c.id = m.consumer_id where c.qname = 'semaphore_events' group by 1, 2, 3)) d`,
	} {
		if got := enginetest.One[string](c.T, conn, sql); got != "" {
			c.Errorf("%s: %s", what, got)
		}
	}
	events := enginetest.One[int](c.T, conn, `select count(*) from mbus4.message m join mbus4.consumer c on c.id = m.consumer_id where c.qname = 'semaphore_events'`)
	if changes := enginetest.One[int](c.T, conn, `select count(*) from audit`); changes != events {
		c.Errorf("%d events for %d changes", events, changes)
	}
}
