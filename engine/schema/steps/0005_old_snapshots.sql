-- What stays as fast under a held snapshot and at any size: docs/adr/0016-old-snapshots.md.

-- The number of the consumer's own hint, a sequence as the others; null: it has that of id % 128, which goes on to count it. Housekeeping gives it
-- out where consumers would share one: see engine/housekeeping/ownhints.go.
alter table mbus4.consumer add column if not exists hint int check (hint between 128 and 4095);

-- The messages that are in circles, each with a way by which it comes back to itself. A circle lies within one strongly connected
-- component of what waits for what; one search in depth (Tarjan's) finds these in as many steps as there are messages and dependencies.
-- The shortest way back is searched in breadth. It may be as long as there are messages in the circle, for each of them, so a search looks
-- at a thousand dependencies only, and at fewer where very many messages are in circles; of a longer way the first step is given, and null in the place of the rest.
--
-- The settings leave the planner no choice but the index in its order, and hashes.
create or replace function mbus4.circles(out iid text, out path text[]) returns setof record
language plpgsql stable security definer
set search_path = pg_catalog, pg_temp
set enable_seqscan = off
set enable_bitmapscan = off
set enable_nestloop = off
set jit = off
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

-- Messages that wait for one another, and so forever: each row is one of them, with a way, mostly the shortest, by which it comes back to
-- itself. Only iids generated beforehand make that possible. take() any of them.
create or replace view mbus4.waiting_in_circle as select c.iid collate "C" as iid, c.path collate "C" as path from mbus4.circles() c;

-- The messages that the consumer with the most of them is still to get: counted up to 1,000, beyond that
-- estimated from a sample of the table's pages. call is the number of the call in the client's text.
--
-- Counting goes along the primary key, in its order and from the consumer's hint on; the settings keep the planner from fetching the whole
-- range before it counts a thousand of it. Which consumers are looked for in the sample is one array, since a join may look each row's up.
-- The planner expects more of a sample than there is, and the more, the larger the table; without the last setting it would be compiled.
create or replace function mbus4.estimated_messages_of(qname text, call int) returns bigint
language sql volatile
set enable_seqscan = off
set enable_bitmapscan = off
set jit = off
as $$
    select case
        when not exists (select from mbus4.queue q where q.qname = pg_catalog.lower($1 collate "C"))
            then pg_catalog.left(pg_catalog.format('mbus4-error %s 42704 queue %s does not exist', $2, coalesce('"' || $1 || '"', 'null')), 2000)::int::bigint
        when coalesce(pg_catalog.max(n.counted), 0) < 1000 then coalesce(pg_catalog.max(n.counted), 0)
        else greatest(1000, (
            select (pg_catalog.max(s.seen) / (least(100, 20000.0 / greatest(p.pages, 1)) / 100))::bigint
            from (select pg_catalog.pg_relation_size('mbus4.message'::regclass) / pg_catalog.current_setting('block_size')::int as pages) p
            cross join lateral (
                select pg_catalog.count(*) as seen
                from mbus4.message m tablesample system (least(100, 20000.0 / greatest(p.pages, 1))) repeatable (0)
                where m.consumer_id = any(array(select c.id from mbus4.consumer c where c.qname = pg_catalog.lower($1 collate "C")))
                group by m.consumer_id) s
            group by p.pages))
    end
    from (
        select (select pg_catalog.count(*)
                from (
                    select
                    from mbus4.message m
                    where m.consumer_id = c.id and m.available_at >= c.low
                    order by m.available_at, m.id
                    limit 1000
                ) x) as counted
        from (
            select c.id, pg_catalog.to_timestamp(coalesce(pg_catalog.pg_sequence_last_value(('mbus4.hint_' || coalesce(c.hint, c.id % 128))::regclass), 0) / 1000000.0) as low
            from mbus4.consumer c
            where c.qname = pg_catalog.lower($1 collate "C") and c.target is null
            offset 0
        ) c
        offset 0
    ) n
$$;

-- It begins at the consumer's hint, as consuming does.
create or replace view mbus4.dmq as
select m.id, m.added::timestamp as added, mbus4.iid_of(m.iid, 'dmq', m.available_at, m.id) as iid,
       coalesce(m.delayed_until, m.added)::timestamp as delayed_until, m.expires::timestamp as expires,
       coalesce(m.received, '{}') as received, mbus4.headers_of('dmq', m.added, m.headers) as headers, m.properties, m.data
from mbus4.message m
where m.consumer_id = (select c.id from mbus4.consumer c where c.qname = 'dmq' and c.name = 'default')
  and m.available_at >= (select to_timestamp(coalesce(pg_sequence_last_value(('mbus4.hint_' || (select coalesce(c.hint, 1) from mbus4.consumer c where c.id = 1))::regclass), 0) / 1000000.0))
offset 0;

-- A row that was claimed may come back to its old place in the order. So those that never were stand by themselves, and claiming begins
-- at the first of them, however many that came before are gone. The index of both kinds would give the planner a choice.
alter table mbus4.work_queue
    add column if not exists fresh boolean not null default true, -- nobody has claimed it yet
    alter column next_attempt_at set default pg_catalog.clock_timestamp(), -- after the id is drawn: see hint_work
    alter column fresh set statistics 0;
drop index if exists mbus4.work_queue_next;
create index if not exists work_queue_fresh on mbus4.work_queue (next_attempt_at, id) where process_id is null and fresh;
create index if not exists work_queue_again on mbus4.work_queue (next_attempt_at, id) where process_id is null and not fresh;

-- Microseconds since 1970 below which no fresh row is live; 0: unknown. See workHint of package housekeeping.
create sequence if not exists mbus4.hint_work as bigint minvalue 0 start 0;

-- What is put into the past by hand stands with those that come back.
create or replace function mbus4.work_placed() returns trigger
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
begin
    new.fresh := false;
    return new;
end
$$;
create or replace trigger work_added before insert on mbus4.work_queue
for each row when (new.fresh and new.next_attempt_at < pg_catalog.clock_timestamp() - interval '0.1 s') execute function mbus4.work_placed();
create or replace trigger work_moved before update of next_attempt_at on mbus4.work_queue
for each row when (new.fresh and new.next_attempt_at < old.next_attempt_at) execute function mbus4.work_placed();
-- Programs that know no fresh rows claim them, too.
create or replace trigger work_claimed before update of process_id on mbus4.work_queue
for each row when (new.fresh and new.process_id is not null) execute function mbus4.work_placed();
update mbus4.work_queue set fresh = false where process_id is not null;

-- The ids of messages. Who draws one for a queue takes first the advisory lock (1835169140, hashtext(queue) & 63), shared, for the rest of its
-- transaction; who holds message_id, from which older programs draw, may post to any queue. See engine/housekeeping/posters.go.
create sequence if not exists mbus4.post_id as bigint;
-- What older programs, and by its lock alone some of ours, draw from goes on far from it: ids must differ where times are equal.
select case when m.is_called then pg_catalog.setval('mbus4.post_id', m.last_value + 1000000000)
            else pg_catalog.setval('mbus4.message_id', 1000000000000000) end
from mbus4.message_id m;
-- Whoever was given one sequence by hand is given the other.
do $$
declare
    g record;
begin
    for g in
        select a.privilege_type as what, case when a.grantee = 0 then 'public' else quote_ident(pg_get_userbyid(a.grantee)) end as whom
        from pg_class c
        cross join lateral aclexplode(c.relacl) a
        where c.oid = 'mbus4.message_id'::regclass and a.grantee <> c.relowner
    loop
        execute format('grant %s on sequence mbus4.post_id to %s', g.what, g.whom);
    end loop;
end
$$;

-- Wakes what waited for a message only that was just consumed, a hundred at most; the releaser does the rest. What is consumed looks at
-- mbus4.waiting itself, and calls this where something waits.
create or replace function mbus4.wake(iid text) returns bigint
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
