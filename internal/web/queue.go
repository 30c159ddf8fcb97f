package web

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"time"

	"github.com/jackc/pgx/v5"

	"mbusproxy/internal/web/sampling"
)

func (p *Page) queueViews() []*view {
	return []*view{{path: Path + "queue", sheet: "queue.html", under: Path, every: 2 * time.Second, load: loadQueue}}
}

func (p *Page) queueForms() []*form {
	return []*form{{path: Path + "queue/pause", run: pause}, {path: Path + "queue/resume", run: pause}}
}

// queueSheet is what queue.html shows.
type queueSheet struct {
	Queue     queueRow
	Created   time.Time
	Consumers []consumerRow
	Triggers  []triggerRow
	Schedules []scheduleRow
	Figures   []sampling.Figure
}

// consumerRow is a row of mbus4.consumers, with what mbus4.consumer says of it.
type consumerRow struct {
	Name, Selector                        Text
	Ready, Delayed, Waiting, Leased, Held int64
	Dead, SelectorErrors                  int64
	Oldest                                float64
	Paused, Exact                         bool
	Since                                 time.Time // of the pause
	MaxAttempts                           int32     // 0: not limited
	Backoff, Lease                        Text
}

// triggerRow is a row of mbus4.trigger.
type triggerRow struct{ From, To, Selector Text }

// scheduleRow is a row of mbus4.schedules.
type scheduleRow struct {
	Name, Cron, Zone Text
	Next             *time.Time
	LastError        Text
}

const consumersSQL = `select c.consumer, coalesce(c.selector, '') as selector, c.ready, c.delayed, c.waiting, c.leased, c.held, c.dead, coalesce(c.selector_errors, 0) as selector_errors,
	coalesce(` + sampling.ReadySeconds + `, -1) as oldest, c.paused, c.exact,
	coalesce(k.paused, 'epoch') as since, coalesce(k.max_attempts, 0) as max_attempts, coalesce(k.backoff::text, '') as backoff, coalesce(k.lease::text, '') as lease
from mbus4.consumers c
join mbus4.consumer k on k.qname operator(pg_catalog.=) c.queue and k.name operator(pg_catalog.=) c.consumer
where c.queue operator(pg_catalog.=) $1
order by c.consumer
limit 1000`

func loadQueue(c *call) (*shown, error) {
	name := c.query.Get("name")
	q := &queueSheet{}
	if !c.may.See {
		return nil, noSight
	}
	rows, err := c.tx.Query(c.ctx, "select * from ("+queuesSQL+") q where q.queue operator(pg_catalog.=) $1", name, 100000)
	if err != nil {
		return nil, fmt.Errorf("asking for the queue: %w", err)
	}
	found, err := pgx.CollectRows(rows, pgx.RowToStructByPos[queueRow])
	if err != nil {
		return nil, fmt.Errorf("asking for the queue: %w", err)
	}
	if len(found) == 0 {
		return nil, &problem{http.StatusNotFound, "Queue not found", Text("No queue of this database is called " + name + "."), "The overview lists the queues."}
	}
	q.Queue = found[0]
	if err = c.tx.QueryRow(c.ctx, `select q.created from mbus4.queue q where q.qname operator(pg_catalog.=) $1`, name).Scan(&q.Created); err != nil {
		return nil, fmt.Errorf("asking for the queue: %w", err)
	}
	if q.Consumers, err = collect[consumerRow](c, consumersSQL, name); err != nil {
		return nil, err
	}
	if q.Triggers, err = collect[triggerRow](c, `select t.src, t.dst, coalesce(t.selector, '') as selector from mbus4.trigger t where $1 in (t.src, t.dst) order by t.src, t.dst limit 200`, name); err != nil {
		return nil, err
	}
	if q.Schedules, err = collect[scheduleRow](c, `select pg_catalog."left"(s.name, 300), pg_catalog."left"(s.cron, 300), pg_catalog."left"(s.timezone, 100), case when pg_catalog.isfinite(s.next_at) then s.next_at end, coalesce(s.last_error, '') as last_error from mbus4.schedules s where s.queue operator(pg_catalog.=) $1 order by s.name limit 100`, name); err != nil {
		return nil, err
	}
	q.Figures = c.page.samples.Depth(c.login.Database, name)
	return &shown{title: Text("Queue " + name), body: q}, nil
}

var noSight = &problem{http.StatusForbidden, "Not allowed", "Your role may not see the queues of this database.", "Members of mbus4_user may: grant mbus4_user to …"}

// collect asks a query for rows of a type.
func collect[T any](c *call, sql string, args ...any) ([]T, error) {
	rows, err := c.tx.Query(c.ctx, sql, args...)
	if err == nil {
		var all []T
		if all, err = pgx.CollectRows(rows, pgx.RowToStructByPos[T]); err == nil {
			return all, nil
		}
	}
	return nil, fmt.Errorf("asking the server: %w", err)
}

// pause pauses or resumes a queue, or one of its consumers.
func pause(s *submission) (to, told string, err error) {
	queue, consumer := s.value("queue"), s.value("consumer")
	function, done := "pause_queue", "paused"
	if s.r.URL.Path == Path+"queue/resume" {
		function, done = "resume_queue", "no longer paused"
	}
	var one any
	what := "Queue " + queue
	if consumer != "" {
		one, what = consumer, "Consumer "+consumer+" of "+queue
	}
	err = s.change(audit{action: function, queue: queue, consumer: consumer}, func(ctx context.Context, tx pgx.Tx) error {
		_, err := tx.Exec(ctx, "select mbus4."+function+"($1, $2)", queue, one)
		return err
	})
	return Path + "queue?" + url.Values{"name": {queue}}.Encode(), what + " is " + done + ".", err
}
