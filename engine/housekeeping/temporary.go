package housekeeping

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
)

const (
	reapInterval = time.Second // how long a temporary queue may outlive its session while its database is in use
	reapBatch    = 500         // queues that are removed in one transaction
)

// reaper removes the temporary queues whose sessions are gone, and the triggers that feed them. Their
// messages become unreachable at once; the sweeper removes them.
type reaper struct {
	id int64 // of the last queue that was removed, 0: a pass begins
}

// As mbus4.drop_dead_temporary_queues, which removes all at once. NOT IN is told by a hash, however
// many queues and sessions there are. What is null is not known, and may be the session: then it is
// neither in nor not.
const reapSQL = `
with held as materialized (
	select (l.pid::bigint << 32) | l.objid::bigint as owner, l.pid
	from pg_catalog.pg_locks l
	where l.locktype = 'advisory' and l.classid = 1835169139 and l.objsubid = 2 and l.granted
	  and l.database = (select d.oid from pg_catalog.pg_database d where d.datname = pg_catalog.current_database())
), session as materialized (
	select a.pid, a.usesysid, a.backend_start
	from (select pg_catalog.pg_stat_clear_snapshot() offset 0) fresh
	cross join lateral pg_catalog.pg_stat_get_activity(null) a
), dead as materialized (
	select q.id, q.qname
	from mbus4.queue q
	where q.kind = 'temp' and q.id > $1
	  and (q.owner, q.owner_role, q.owner_started) not in (
		select h.owner, s.usesysid, s.backend_start from held h left join session s on s.pid = h.pid)
	order by q.id
	limit $2
	for update skip locked
), fed as (
	delete from mbus4.consumer c using dead d where c.target = d.qname
), gone as (
	delete from mbus4.queue q using dead d where q.id = d.id returning q.id
)
select count(*), coalesce(max(id), 0) from gone`

const mayReapSQL = `
select pg_catalog.bool_and(pg_catalog.has_table_privilege('mbus4.' || t, p))
from pg_catalog.unnest(array['queue', 'consumer']) t
cross join pg_catalog.unnest(array['select', 'update', 'delete']) p`

// Reap takes one turn. It reports whether there were any temporary queues before, so the last one is
// still reported once.
func (r *reaper) Reap(ctx context.Context, conn *pgx.Conn, turn *slice) (found bool, err error) {
	const exist = `select exists (select from mbus4.queue where kind = 'temp')`
	if err := conn.QueryRow(ctx, exist).Scan(&found); err != nil {
		return false, fmt.Errorf("looking for temporary queues: %w", err)
	}
	if !found {
		return false, nil
	}
	var may bool
	if err := conn.QueryRow(ctx, mayReapSQL).Scan(&may); err != nil {
		return true, fmt.Errorf("looking for the right to remove temporary queues: %w", err)
	}
	if !may { // the schema's owner may, and the function has his rights
		if _, err := conn.Exec(ctx, `select mbus4.drop_dead_temporary_queues()`); err != nil {
			return true, fmt.Errorf("removing temporary queues: %w", err)
		}
		return true, nil
	}
	for {
		var gone int
		// Not prepared: a plan that was made for few queues would join them one by one.
		if err := conn.QueryRow(ctx, reapSQL, pgx.QueryExecModeExec, r.id, reapBatch).Scan(&gone, &r.id); err != nil {
			r.id = 0
			return true, fmt.Errorf("removing temporary queues: %w", err)
		}
		if gone < reapBatch {
			r.id = 0
			return true, nil
		}
		if turn.over() {
			return true, nil
		}
	}
}
