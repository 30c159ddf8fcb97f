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
                where w.after is not null and not mbus4.awaits_delivery(w.after)
                limit 100
            ))
          and m.available_at = 'infinity' and m.after is not null
        for update skip locked)
$$;

-- Wakes what waited for a message only that was just consumed, a hundred at most; the releaser does the rest. What is consumed looks at
-- mbus4.waiting itself, and calls this where something waits.
create function mbus4.wake(iid text) returns bigint
language plpgsql volatile
set plan_cache_mode = force_generic_plan set jit = off
as $$
declare
    mbus4_woken bigint;
begin
    update mbus4.message m
    set available_at = case
        when case when pg_catalog.pg_try_advisory_xact_lock_shared(1835169140, pg_catalog.hashtext((select c.qname from mbus4.consumer c where c.id = m.consumer_id)) & 63)
                  then pg_catalog.nextval('mbus4.post_id') else pg_catalog.nextval('mbus4.message_id') end > 0
        then greatest(m.delayed_until, pg_catalog.clock_timestamp()) end
    where m.ctid = any(array(select pg_catalog.unnest(mbus4.wakeable(array[$1]))));
    get diagnostics mbus4_woken = row_count;
    return mbus4_woken;
end
$$;

-- The messages that are in circles, each with a way by which it comes back to itself. A circle lies within one strongly connected
-- component of what waits for what; one search in depth (Tarjan's) finds these in as many steps as there are messages and dependencies.
-- The shortest way back is searched in breadth. It may be as long as there are messages in the circle, for each of them, so a search looks
-- at a thousand dependencies only, and at fewer where very many messages are in circles; of a longer way the first step is given, and null in the place of the rest.
--
-- The settings leave the planner no choice but the index in its order, and hashes.
create function mbus4.circles(out iid text, out path text[]) returns setof record
language plpgsql stable security definer
set search_path = pg_catalog, pg_temp
set enable_seqscan = off
set enable_bitmapscan = off
set enable_nestloop = off
set jit = off
set join_collapse_limit = 1 -- one order of joins
as $$
#variable_conflict use_column
declare
    iids text[];   -- of the messages that wait: the place of one here is its number
    deps int[];    -- for whom they wait, in the order of who waits
    ends int[];    -- by message: the place of its last one in deps
    edges int[];   -- by message: the place in deps where the search goes on
    met int[];     -- by message: when the search came to it
    low int[];     -- by message: the earliest that it reaches, of those whose components are not known yet
    part int[];    -- by message: its component, 0: not known yet
    way int[];     -- the messages on the way from where the search began to where it is
    open int[];    -- the messages met whose components are not known yet
    inner_deps int[]; -- deps within the same component, in the same order
    inner_ends int[];
    reached int[]; -- by a search for a way back, in order
    came int[];    -- by message: from where such a search came to it
    sought int[];  -- by message: for whom the last such search was that came to it
    n int; here int; there int; place int; found int; last int; steps int; most int;
    clock int := 0; depth int := 0; opened int := 0; inside int := 0; circular int := 0;
begin
    with message as materialized (
        select m.iid, m.after
        from mbus4.message m
        where m.after is not null and m.iid is not null and (m.expires is null or m.expires > clock_timestamp())
          and (select 1 from mbus4.consumer c where c.id = m.consumer_id) = 1
        order by m.id
    ), node as materialized (
        select m.iid, (row_number() over (order by m.iid))::int as number from message m group by m.iid
    ), edge as materialized (
        select distinct a.number, b.number as dep
        from message m
        join node a on a.iid = m.iid
        cross join unnest(m.after) d (iid)
        join node b on b.iid = d.iid
    ), upto as materialized (
        select v.number, (sum(coalesce(e.number, 0)) over (order by v.number))::int as place
        from node v
        left join (select e.number as of, count(*) as number from edge e group by e.number) e on e.of = v.number
    )
    select (select array_agg(v.iid order by v.number) from node v),
           (select array_agg(e.dep order by e.number, e.dep) from edge e),
           (select array_agg(u.place order by u.number) from upto u)
    into iids, deps, ends;
    if deps is null then
        return;
    end if;
    n := cardinality(iids);
    met := array_fill(0, array[n]);
    low := met; part := met; way := met; open := met; edges := met; inner_ends := met; came := met; sought := met;
    inner_deps := deps;

    for start in 1 .. n loop
        continue when met[start] > 0;
        here := start;
        loop
            if met[here] = 0 then
                clock := clock + 1;
                met[here] := clock;
                low[here] := clock;
                depth := depth + 1;
                way[depth] := here;
                opened := opened + 1;
                open[opened] := here;
                edges[here] := case when here = 1 then 1 else ends[here - 1] + 1 end;
            end if;
            place := edges[here];
            if place <= ends[here] then
                edges[here] := place + 1;
                there := deps[place];
                if met[there] = 0 then
                    here := there;
                elsif part[there] = 0 then
                    low[here] := least(low[here], met[there]);
                end if;
            else
                if low[here] = met[here] then
                    loop
                        there := open[opened];
                        opened := opened - 1;
                        part[there] := here;
                        exit when there = here;
                    end loop;
                end if;
                depth := depth - 1;
                exit when depth = 0;
                there := way[depth];
                low[there] := least(low[there], low[here]);
                here := there;
            end if;
        end loop;
    end loop;

    place := 1;
    for start in 1 .. n loop
        steps := inside;
        while place <= ends[start] loop
            there := deps[place];
            if part[there] = part[start] then
                inside := inside + 1;
                inner_deps[inside] := there;
            end if;
            place := place + 1;
        end loop;
        inner_ends[start] := inside;
        if inside > steps then
            circular := circular + 1;
        end if;
    end loop;
    most := greatest(10, least(1000, 1000000 / greatest(circular, 1)));

    reached := way;
    for start in 1 .. n loop
        continue when inner_ends[start] = case when start = 1 then 0 else inner_ends[start - 1] end;
        reached[1] := start;
        last := 1;
        steps := 0;
        found := 0;
        for turn in 1 .. n loop
            exit when turn > last or found > 0 or steps >= most;
            here := reached[turn];
            place := case when here = 1 then 1 else inner_ends[here - 1] + 1 end;
            while place <= inner_ends[here] and found = 0 and steps < most loop
                there := inner_deps[place];
                if there = start then
                    found := here;
                elsif sought[there] <> start then
                    sought[there] := start;
                    came[there] := here;
                    last := last + 1;
                    reached[last] := there;
                end if;
                place := place + 1;
                steps := steps + 1;
            end loop;
        end loop;
        iid := iids[start];
        path := array[iid];
        if found > 0 then
            while found <> start loop
                path := array_prepend(iids[found], path);
                found := came[found];
            end loop;
            path := array_prepend(iid, path);
        else
            path := array[iid, iids[reached[2]], null, iid];
        end if;
        return next;
    end loop;
end
$$;
revoke all on function mbus4.circles() from public;

-- Messages that wait for one another, and so forever: each row is one of them, with the way by which
-- it comes back to itself. Only iids generated beforehand make that possible. take() any of them.
create view mbus4.waiting_in_circle as select c.iid collate "C" as iid, c.path collate "C" as path from mbus4.circles() c;
