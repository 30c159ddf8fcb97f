package web

import (
	"fmt"
	"net/http"
	"time"
)

func (p *Page) semaphoreViews() []*view {
	return []*view{
		{path: Path + "semaphores", sheet: "semaphores.html", nav: "Semaphores", every: 3 * time.Second, load: loadSemaphores},
		{path: Path + "semaphore", sheet: "semaphore.html", under: Path + "semaphores", every: 3 * time.Second, load: loadSemaphore},
	}
}

// semaphoreRow is a row of mbus4.semaphore, with its tasks counted.
type semaphoreRow struct {
	ID               int32
	Key              Text
	Slots, Release   int32
	Running, Waiting int64 // at most mostTasks
	Longest          float64
}

// taskRow is a row of mbus4.semaphore_task.
type taskRow struct {
	Task     int64
	Priority float64
	Status   Text
	Age      float64
}

// mostTasks is how many tasks of a semaphore are counted.
const mostTasks = 1000

const semaphoresSQL = `select s.id, s.key, s.active, s.try_release, r.running, w.waiting, coalesce(w.longest, -1) as longest
from (select s.* from mbus4.semaphore s where $1 operator(pg_catalog.=) '' or s.key operator(pg_catalog.=) $1 order by s.key limit 200) s
cross join lateral (
	select count(*) as running from (select from mbus4.semaphore_task t where (-t.semaphore_id) operator(pg_catalog.=) (-s.id) and t.status in ('ACQUIRED', 'TRY_RELEASE') order by (-t.semaphore_id), (-t.priority), t.arrival limit $2) t
) r
cross join lateral (
	select count(*) as waiting, extract(epoch from pg_catalog.clock_timestamp() operator(pg_catalog.-) min(t.enqueued))::float8 as longest
	from (select t.enqueued from mbus4.semaphore_task t where (-t.semaphore_id) operator(pg_catalog.=) (-s.id) and t.status operator(pg_catalog.=) 'WAIT' order by (-t.semaphore_id), (-t.priority), t.arrival limit $2) t
) w
order by s.key`

func loadSemaphores(c *call) (*shown, error) {
	if !c.may.Semaphores {
		return nil, noSight
	}
	if err := settle(c.ctx, c.tx); err != nil {
		return nil, fmt.Errorf("asking for the semaphores: %w", err)
	}
	rows, err := collect[semaphoreRow](c, semaphoresSQL, "", mostTasks)
	if err != nil {
		return nil, err
	}
	return &shown{title: "Semaphores", body: rows}, nil
}

// semaphoreSheet is what semaphore.html shows.
type semaphoreSheet struct {
	Semaphore        semaphoreRow
	Running, Waiting []taskRow
}

func loadSemaphore(c *call) (*shown, error) {
	if !c.may.Semaphores {
		return nil, noSight
	}
	if err := settle(c.ctx, c.tx); err != nil {
		return nil, fmt.Errorf("asking for the semaphore: %w", err)
	}
	key := Text(c.query.Get("key"))
	found, err := collect[semaphoreRow](c, semaphoresSQL, key.Raw(), mostTasks)
	if err != nil {
		return nil, err
	}
	if len(found) != 1 || key == "" {
		return nil, &problem{http.StatusNotFound, "Semaphore not found", "No semaphore of this database has that key.", "The page Semaphores lists them."}
	}
	s := &semaphoreSheet{Semaphore: found[0]}
	const columns = `select t.task_id, t.priority, t.status::text, extract(epoch from pg_catalog.clock_timestamp() operator(pg_catalog.-) t.enqueued)::float8 from mbus4.semaphore_task t where (-t.semaphore_id) operator(pg_catalog.=) (-$1::int) and `
	const order = ` order by (-t.semaphore_id), (-t.priority), t.arrival limit 100`
	if s.Running, err = collect[taskRow](c, columns+`t.status in ('ACQUIRED', 'TRY_RELEASE')`+order, s.Semaphore.ID); err != nil {
		return nil, err
	}
	if s.Waiting, err = collect[taskRow](c, columns+`t.status operator(pg_catalog.=) 'WAIT'`+order, s.Semaphore.ID); err != nil {
		return nil, err
	}
	return &shown{title: Text("Semaphore " + key.Short()), body: s}, nil
}
