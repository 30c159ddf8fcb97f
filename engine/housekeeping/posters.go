package housekeeping

import (
	"context"
	"fmt"
	"math"

	"github.com/jackc/pgx/v5"
)

// queueClasses is the number of classes that the queues of messages fall into. Not each queue has a
// lock of its own, so that no transaction fills the server's table of locks, which by default has
// room for 64 of each session. The calls' SQL and the schema's know the number too.
const queueClasses = 64

// classSet is a set of classes, a bit for each.
type classSet uint64

// allClasses has every class.
const allClasses classSet = math.MaxUint64

// sequences are those whose locks say who may have added rows that are not visible yet.
type sequences struct {
	any     []string // who holds one may have added any
	byClass string   // who holds this one has added rows to the queues whose locks it holds, and has taken these before; "" for none
}

// posters is what the last reading of who holds the locks on sequences gave: rows of those
// transactions may not be visible yet. It remains correct, only lower than need be, while another
// hinter leads. Times are in microseconds since 1970.
type posters struct {
	readAt int64 // the server's clock when it was made, 0: never
	// By class: no row that is not visible yet is older; nor will one come that is.
	floors  [queueClasses]int64
	holders map[hold]int64 // nothing of theirs is older
}

// hold is a lock that says where a transaction may have added rows.
type hold struct {
	transaction string // its virtual transaction
	class       int32  // -1: any
}

// classes are those that rows may be of.
func (h hold) classes() classSet {
	if h.class < 0 {
		return allClasses
	}
	return 1 << h.class
}

// holdersSQL reads who holds the locks on the sequences $1, and who that on $2 and of which
// classes. statement_timestamp() is when this statement arrived: before the locks are read.
// pg_locks reads the locks that stand with each process, where that on a sequence mostly is, before
// the table that all share, where advisory locks are: who is seen with the first has been given the
// second before, and is seen without only when its transaction has ended since.
const holdersSQL = `
with held as materialized (
	select l.locktype, l.relation, l.objid::bigint::int & ($3 - 1) as class, coalesce(l.pid, 0) as pid, l.virtualtransaction
	from pg_catalog.pg_locks l
	where l.database = (select oid from pg_catalog.pg_database where datname = current_database())
	  and l.granted
	  and l.pid is distinct from pg_catalog.pg_backend_pid()
	  and case l.locktype
	      when 'relation' then l.mode = 'RowExclusiveLock' and (l.relation = any($1::text[]::regclass[]) or l.relation = nullif($2, '')::regclass)
	      when 'advisory' then l.classid = 1835169140 and l.objsubid = 2
	      else false end
)
select (extract(epoch from statement_timestamp()) * 1000000)::bigint, coalesce(h.pid, 0), coalesce(h.virtualtransaction, ''), coalesce(h.class, -1)
from (select) one
left join (
	select pid, virtualtransaction, -1 as class from held where relation = any($1::text[]::regclass[])
	union
	select a.pid, a.virtualtransaction, a.class
	from held a
	where a.locktype = 'advisory' and a.virtualtransaction in (select virtualtransaction from held where relation = nullif($2, '')::regclass)
) h on true`

// Null where the role may not see it, or track_activities is off.
const beginsSQL = `
select pid, (extract(epoch from xact_start) * 1000000)::bigint
from pg_catalog.pg_stat_activity
where pid = any ($1) and xact_start is not null`

// floor is the lowest of the classes; that of none is in the future.
func (p *posters) floor(classes classSet) int64 {
	lowest := int64(math.MaxInt64)
	for class, floor := range p.floors {
		if classes&(1<<class) != 0 {
			lowest = min(lowest, floor)
		}
	}
	return lowest
}

// read brings what is known of the transactions that draw ids from the sequences up to date and
// gives the server's time.
func (p *posters) read(ctx context.Context, conn *pgx.Conn, from sequences) (now int64, err error) {
	type holder struct {
		hold
		pid int32 // 0: a prepared transaction
	}
	var held []holder
	var one holder
	rows, err := conn.Query(ctx, holdersSQL, from.any, from.byClass, queueClasses)
	if err == nil {
		_, err = pgx.ForEachRow(rows, []any{&now, &one.pid, &one.transaction, &one.class}, func() error {
			if one.transaction != "" {
				held = append(held, one)
			}
			return nil
		})
	}
	if err != nil {
		return 0, fmt.Errorf("reading who posts: %w", err)
	}
	var begins map[int32]int64
	if now-p.readAt > (4 * tickInterval).Microseconds() { // the last reading says too little
		var pids []int32
		for _, one := range held {
			pids = append(pids, one.pid)
		}
		if begins, err = readBegins(ctx, conn, pids); err != nil {
			return 0, err
		}
	}
	var floors [queueClasses]int64
	for class := range floors {
		floors[class] = now
	}
	holders := make(map[hold]int64, len(held))
	for _, one := range held {
		since, known := p.holders[one.hold]
		switch {
		case known:
		case one.pid == 0:
			since = p.floor(one.classes()) // PREPARE gave it a new virtual transaction, so it may have posted before the last reading
		default:
			since = max(p.readAt, begins[one.pid])
		}
		since = min(since, now) // the clock may have been set back
		holders[one.hold] = since
		for class := range floors {
			if one.classes()&(1<<class) != 0 {
				floors[class] = min(floors[class], since)
			}
		}
	}
	p.readAt, p.floors, p.holders = now, floors, holders
	return now, nil
}

func readBegins(ctx context.Context, conn *pgx.Conn, pids []int32) (map[int32]int64, error) {
	begins := make(map[int32]int64, len(pids))
	var pid int32
	var begin int64
	rows, err := conn.Query(ctx, beginsSQL, pids)
	if err == nil {
		_, err = pgx.ForEachRow(rows, []any{&pid, &begin}, func() error {
			begins[pid] = begin
			return nil
		})
	}
	if err != nil {
		return nil, fmt.Errorf("reading when transactions began: %w", err)
	}
	return begins, nil
}
