package web

import (
	"time"
)

func (p *Page) horizonViews() []*view {
	return []*view{{path: Path + "horizon", sheet: "horizon.html", nav: "Horizon", every: 10 * time.Second, anywhere: true, load: loadHorizon}}
}

// horizonSheet is what horizon.html shows.
type horizonSheet struct {
	Pins   []pinRow
	Tables []deadRow
	Queues []carriedRow
	Left   int     // consumers that were not looked at
	Queue  bool    // dead rows were counted by queue
	Oldest *pinRow // nil: nothing pins it
}

// pinRow is what keeps dead rows from being cleaned up.
type pinRow struct {
	Kind, Who, What Text
	Behind          int64   // transactions
	Since           float64 // seconds; less than 0: not known
	Here            bool    // it holds back this database's tables; others hold back those that all databases share
}

// deadRow is a table of ours with its dead rows.
type deadRow struct {
	Table      Text
	Live, Dead int64
	Size       int64
	Vacuumed   float64 // seconds since; less than 0: never
}

// pinsSQL lists what pins xmin, the worst first. Whose sessions a role may not look at, of those it
// still sees the process, the name and how far back they pin. A walsender's xmin is a replica's
// that has hot_standby_feedback. catalog_xmin holds back the system's tables only, and is told all
// the same: these belong to the database, too.
const pinsSQL = `select p.kind, p.who, p.what, p.behind::bigint, coalesce(p.since, -1)::float8, p.here
from (
	select case when exists (select from pg_catalog.pg_stat_replication r where r.pid operator(pg_catalog.=) a.pid) then 'replica' when a.backend_type operator(pg_catalog.<>) 'client backend' then a.backend_type else 'session' end as kind,
		'pid ' operator(pg_catalog.||) a.pid operator(pg_catalog.||) coalesce(', ' operator(pg_catalog.||) a.usename, '') operator(pg_catalog.||) coalesce(', ' operator(pg_catalog.||) nullif(a.application_name, ''), '')
			operator(pg_catalog.||) case when a.datname operator(pg_catalog.<>) pg_catalog.current_database() then ', database ' operator(pg_catalog.||) a.datname else '' end as who,
		coalesce(a.state, '') operator(pg_catalog.||) coalesce(': ' operator(pg_catalog.||) pg_catalog."left"(a.query, 200), '') as what,
		greatest(pg_catalog.age(a.backend_xmin), pg_catalog.age(a.backend_xid)) as behind,
		extract(epoch from pg_catalog.clock_timestamp() operator(pg_catalog.-) coalesce(a.xact_start, a.backend_start)) as since,
		a.datname is null or a.datname operator(pg_catalog.=) pg_catalog.current_database() as here
	from pg_catalog.pg_stat_activity a
	where (a.backend_xmin is not null or a.backend_xid is not null) and a.pid operator(pg_catalog.<>) pg_catalog.pg_backend_pid()
	union all
	select 'prepared transaction', x.gid operator(pg_catalog.||) ', ' operator(pg_catalog.||) x.owner operator(pg_catalog.||) case when x.database operator(pg_catalog.<>) pg_catalog.current_database() then ', database ' operator(pg_catalog.||) x.database else '' end,
		'commit prepared or rollback prepared ends it', pg_catalog.age(x.transaction), extract(epoch from pg_catalog.clock_timestamp() operator(pg_catalog.-) x.prepared), x.database operator(pg_catalog.=) pg_catalog.current_database()
	from pg_catalog.pg_prepared_xacts x
	union all
	select 'replication slot', s.slot_name operator(pg_catalog.||) case when s.active then '' else ', nobody uses it' end,
		case when s.xmin is null then 'catalog_xmin: the tables of the system' else 'xmin' end, greatest(pg_catalog.age(s.xmin), pg_catalog.age(s.catalog_xmin)), null, s.xmin is not null
	from pg_catalog.pg_replication_slots s
	where s.xmin is not null or s.catalog_xmin is not null
) p
order by p.here desc, p.behind desc
limit 100`

const deadSQL = `select t.relname, t.n_live_tup, t.n_dead_tup, pg_catalog.pg_total_relation_size(t.relid), coalesce(extract(epoch from pg_catalog.clock_timestamp() operator(pg_catalog.-) greatest(t.last_vacuum, t.last_autovacuum))::float8, -1)
from pg_catalog.pg_stat_all_tables t
where t.schemaname operator(pg_catalog.=) 'mbus4' and t.relname in ('message', 'waiting', 'work_queue', 'semaphore_task', 'semaphore_change', 'consumer', 'queue')
order by t.n_dead_tup desc, t.relname`

func loadHorizon(c *call) (*shown, error) {
	s := &horizonSheet{}
	var err error
	if s.Pins, err = collect[pinRow](c, pinsSQL); err != nil {
		return nil, err
	}
	if len(s.Pins) > 0 && s.Pins[0].Here {
		s.Oldest = &s.Pins[0]
	}
	if s.Tables, err = collect[deadRow](c, deadSQL); err != nil {
		return nil, err
	}
	if c.may.Messages {
		s.Queue = true
		if s.Queues, s.Left, err = carried(c); err != nil {
			return nil, err
		}
	}
	return &shown{title: "Horizon", body: s}, nil
}
