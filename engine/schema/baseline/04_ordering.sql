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
insert into mbus4.waiting (dep, consumer_id, id) select repeat(md5(n::pg_catalog.text), 20), 0, -n from generate_series(1, 1000) n;
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
                where w.after is not null and not mbus4.awaits_delivery(w.after)
                limit 100
            ))
          and m.available_at = 'infinity' and m.after is not null
        for update skip locked)
$$;

-- Wakes what waited for a message only that was just consumed, a hundred at most; the releaser does the rest. What is consumed looks at
-- mbus4.waiting itself, and calls this where something waits. With a setting the planner does not read the body at each plan of a statement that calls it.
create function mbus4.wake(iid text) returns bigint
language sql volatile
set jit = off
as $$
    with woken as (
        update mbus4.message m
        set available_at = case
            when case when pg_catalog.pg_try_advisory_xact_lock_shared(1835169140, pg_catalog.hashtext((select c.qname from mbus4.consumer c where c.id = m.consumer_id)) & 63)
                      then pg_catalog.nextval('mbus4.post_id') else pg_catalog.nextval('mbus4.message_id') end > 0
            then greatest(m.delayed_until, pg_catalog.clock_timestamp()) end
        where m.ctid = any(array(select pg_catalog.unnest(mbus4.wakeable(array[$1]))))
        returning 1
    )
    select pg_catalog.count(*) from woken
$$;
