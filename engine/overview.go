package engine

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"
	"unicode/utf8"

	"github.com/jackc/pgx/v5"

	"mbusproxy/engine/admin"
	"mbusproxy/engine/internal/service"
	"mbusproxy/engine/refusal"
	"mbusproxy/engine/semaphore"
	"mbusproxy/engine/waiting"
)

// Overview is what there is in a database.
type Overview struct {
	Queues    []QueueCount
	Consumers []ConsumerCount
	Tasks     TaskCount
	// Posted and Removed are the rows that have been, in all queues, as the server has counted them.
	Posted, Removed int64
}

// QueueCount tells of a queue that is not temporary.
type QueueCount struct {
	Queue, Kind string
	Consumers   int64
}

// ConsumerCount is a row of the view mbus4.consumers, which is exact for small backlogs and an estimate for others.
type ConsumerCount struct {
	Queue, Consumer                       string
	Ready, Delayed, Waiting, Leased, Held int64
	Dead                                  int64         // that lie in dmq
	SelectorErrors                        *int64        // nil where there is no selector, or its errors are not counted
	OldestReady                           time.Duration // how long the oldest has been ready; 0: none is
	Paused, Exact                         bool
}

// TaskCount is how many tasks of semaphores there are, up to 10000 of each kind.
type TaskCount struct{ Waiting, Active int64 }

// mostCounted is where counting ends for which nothing is estimated.
const mostCounted = 10000

// What clients make names of is not listed: temporary queues, of which each session may have some.
// A time that is none, or thousands of years ago, somebody has written past the functions; a
// difference to it is an error of the server's, or none that a Duration holds.
const (
	queuesSQL    = `select q.qname, q.kind, (select count(*) from mbus4.consumer c where c.qname = q.qname and c.target is null) from mbus4.queue q where q.kind <> 'temp'`
	consumersSQL = `select c.queue, c.consumer, c.ready, c.delayed, c.waiting, c.leased, c.held, c.dead, c.selector_errors,
	least(coalesce(extract(epoch from pg_catalog.clock_timestamp() - case when pg_catalog.isfinite(c.oldest_ready) then c.oldest_ready end), 0), 1e9)::float8, c.paused, c.exact
from mbus4.consumers c
where (select q.kind from mbus4.queue q where q.qname = c.queue) <> 'temp'
order by c.ready + c.delayed + c.waiting + c.leased desc, c.queue, c.consumer`
	tasksSQL = `select (select count(*) from (select from mbus4.semaphore_task t where t.status = 'WAIT' limit $1) w),
	(select count(*) from (select from mbus4.semaphore_task t where t.status in ('ACQUIRED', 'TRY_RELEASE') limit $1) a),
	pg_catalog.pg_stat_get_tuples_inserted('mbus4.message'::regclass), pg_catalog.pg_stat_get_tuples_deleted('mbus4.message'::regclass)`
)

// Overview counts what there is in the database, over a connection of its own. It costs what the
// view mbus4.consumers does. Of what the server cannot give as UTF-8, which some databases let
// administrators make names of, nothing is told. Errors are those of the connection and the server.
func (d *Database) Overview(ctx context.Context) (o Overview, err error) {
	conn, err := d.installed.Dial(ctx, d.engine.server)
	if err != nil {
		return o, fmt.Errorf("looking at database %s: %w", d.Name(), err)
	}
	defer admin.Close(ctx, conn)
	err = d.overview(ctx, conn, &o)
	if code := refusal.SQLState(err); code == refusal.NotInRepertoire || code == refusal.Untranslatable {
		if o, err = (Overview{}), admin.ReadBytes(ctx, conn); err == nil {
			err = d.overview(ctx, conn, &o)
		}
	}
	if err != nil {
		return o, fmt.Errorf("looking at database %s: %w", d.Name(), err)
	}
	return o, nil
}

func (d *Database) overview(ctx context.Context, conn *pgx.Conn, o *Overview) error {
	rows, err := conn.Query(ctx, queuesSQL)
	if err != nil {
		return err
	}
	if o.Queues, err = pgx.CollectRows(rows, pgx.RowToStructByPos[QueueCount]); err != nil {
		return err
	}
	o.Queues = slices.DeleteFunc(o.Queues, func(q QueueCount) bool { return !utf8.ValidString(q.Queue) })
	if rows, err = conn.Query(ctx, consumersSQL); err != nil {
		return err
	}
	var c ConsumerCount
	var oldest float64
	_, err = pgx.ForEachRow(rows, []any{&c.Queue, &c.Consumer, &c.Ready, &c.Delayed, &c.Waiting, &c.Leased, &c.Held, &c.Dead, &c.SelectorErrors, &oldest, &c.Paused, &c.Exact}, func() error {
		if !utf8.ValidString(c.Queue + c.Consumer) {
			return nil
		}
		c.OldestReady = time.Duration(max(0, oldest) * float64(time.Second))
		o.Consumers = append(o.Consumers, c)
		return nil
	})
	if err != nil {
		return err
	}
	return conn.QueryRow(ctx, tasksSQL, mostCounted).Scan(&o.Tasks.Waiting, &o.Tasks.Active, &o.Posted, &o.Removed)
}

// ServiceReport tells how one of a database's services fares.
type ServiceReport struct {
	Service string // housekeeping, granter or watcher
	service.Report
}

// Services tells how the database's services fare.
func (d *Database) Services() []ServiceReport {
	report := func(name string, r service.Report) ServiceReport { return ServiceReport{name, r} }
	return []ServiceReport{
		report("housekeeping", d.keeper.Health.Report()), report("granter", d.granter.Health.Report()), report("watcher", d.watcher.Health.Report()),
	}
}

// Waiting is how many calls wait here for messages.
func (d *Database) Waiting() int { return d.watcher.Lines.Waiting() }

// Grants is how many slots of semaphores this proxy has given, and how many tasks it has asked to leave theirs.
func (d *Database) Grants() (granted, asked uint64) { return d.granter.Counts() }

// GrantLatencies is how long these grants have taken, see semaphore.Granter.Latencies.
func (d *Database) GrantLatencies() semaphore.Latencies { return d.granter.Latencies() }

// WaitingCalls are the calls that wait here for messages, by what they wait for.
func (d *Database) WaitingCalls() []waiting.Calls { return d.watcher.Lines.Calls() }

// Databases are those that are served now, by name.
func (e *Engine) Databases() (out []*Database) {
	e.mu.Lock()
	defer e.mu.Unlock()
	for _, ent := range e.registry {
		select {
		case <-ent.done:
			if ent.err == nil {
				out = append(out, ent.db)
			}
		default:
		}
	}
	slices.SortFunc(out, func(a, b *Database) int { return cmp.Compare(a.Name(), b.Name()) })
	return out
}

// TrustedDatabaseExists reports whether the server has a database of that name which belongs to a superuser or to the
// admin role. Others who may create databases take no name from anybody by that. Errors are those of the connection
// and the server.
func (e *Engine) TrustedDatabaseExists(ctx context.Context, name string) (is bool, err error) {
	conn, err := e.server.ConnectRaw(ctx)
	if err != nil {
		return false, fmt.Errorf("looking for database %s: %w", name, err)
	}
	defer admin.Close(ctx, conn)
	if err := conn.QueryRow(ctx, `
		select exists (select from pg_catalog.pg_database d join pg_catalog.pg_roles r on r.oid = d.datdba where d.datname = $1 and (r.rolsuper or r.rolname = current_user))`, name).Scan(&is); err != nil {
		return false, fmt.Errorf("looking for database %s: %w", name, err)
	}
	return is, nil
}
