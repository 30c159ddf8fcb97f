-- Messages that wait for others (consume_after).

-- While one of them is there, the message is parked: its available_at is infinity, which keeps it out
-- of the range that consuming scans. One row here for each message and iid says whom to wake when the
-- iid is gone. A row without a parked message means nothing; the Releaser removes it.
create table mbus4.waiting (
    dep         text collate "C" not null,
    consumer_id bigint not null,
    id          bigint not null, -- of the message that waits
    primary key (dep, consumer_id, id)
) with (
    autovacuum_vacuum_scale_factor = 0,
    autovacuum_vacuum_threshold = 1000,
    autovacuum_vacuum_cost_delay = 0,
    vacuum_index_cleanup = on,
    vacuum_truncate = off
);
alter table mbus4.waiting
    alter column dep set statistics 0,
    alter column consumer_id set statistics 0,
    alter column id set statistics 0;

-- Some pages that stay, as for mbus4.message; and to fetch ten rows by their addresses must look cheaper than to read
-- an empty table.
insert into mbus4.waiting (dep, consumer_id, id) select repeat(md5(n::text), 20), 0, -n from generate_series(1, 1000) n;
delete from mbus4.waiting;

-- The addresses of messages that wait for one of these iids and for nothing else that is still there: a hundred
-- at most, locked, those aside that others hold. The iids are of messages that the transaction has removed, and a
-- volatile function sees that they are gone.
--
-- Which way the planner goes here must not depend on statistics, whatever they say (see mbus4.message): each step
-- is ordered as an index of its own is, and limited, so that to read and sort a table for it never looks
-- cheaper, and nothing looks so dear that the server compiles it.
create function mbus4.wakeable(iids text[]) returns tid[]
language sql volatile
as $$
    select array(
        select m.ctid
        from mbus4.message m
        where m.ctid = any(array(
                select w.tid
                from pg_catalog.unnest($1) d (iid)
                cross join lateral (
                    select g.consumer_id, g.id
                    from mbus4.waiting g
                    where g.dep = d.iid
                    order by g.consumer_id, g.id
                    limit 100
                ) g
                cross join lateral (
                    select m.ctid as tid, m.after
                    from mbus4.message m
                    where m.consumer_id = g.consumer_id and m.available_at = 'infinity' and m.id = g.id
                    order by m.consumer_id, m.available_at, m.id
                    limit 1
                ) w
                where w.after is not null and not mbus4.any_undelivered(w.after)
                limit 100
            ))
          and m.available_at = 'infinity' and m.after is not null
        for update skip locked)
$$;

-- Messages that wait for one another, and so forever: each row is one of them, with the way by which
-- it comes back to itself. Only iids generated beforehand make that possible. take() any of them.
create view mbus4.waiting_in_circle as
with recursive edge as (
    select distinct m.iid, dep
    from mbus4.message m
    cross join lateral unnest(m.after) dep
    where m.after is not null and mbus4.any_undelivered(array[dep])
), way (iid, at, path) as (
    select e.iid, e.dep, array[e.iid, e.dep]
    from edge e
    union all
    select w.iid, e.dep, w.path || e.dep
    from way w
    join edge e on e.iid = w.at
    where w.at <> w.iid and not e.dep = any (w.path[2:])
)
select distinct on (w.iid) w.iid, w.path
from way w
where w.at = w.iid
order by w.iid, cardinality(w.path);
