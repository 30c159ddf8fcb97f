-- What looks messages up by their iids does so with plans that stay in the session, or becomes part of the query that asks: the body of a
-- function in SQL that is neither is parsed and planned each time. All have names of their own: statements under way fail where a function is
-- dropped, or gets another language. What the baseline has for them older programs use.

create or replace function mbus4.places_of_iid(iid text, out queue text, out available_at timestamptz, out id bigint) returns setof record
language sql stable parallel safe rows 1
as $$
    select pg_catalog.left(iid, -(pg_catalog.length(n) + 2 + pg_catalog.length(pg_catalog.current_database()))),
           timestamptz 'epoch' + pg_catalog.left(n, 16)::bigint * interval '1 microsecond',
           pg_catalog.substr(n, 17)::bigint
    from pg_catalog.substring(iid, '[.]([1-9][0-9]{15}[1-9][0-9]{0,17})$') n
    where pg_catalog.right(iid, pg_catalog.length(n) + 2 + pg_catalog.length(pg_catalog.current_database()))
        = '.' || pg_catalog.current_database() || '.' || n
$$;

-- As any_undelivered.
create or replace function mbus4.awaits_delivery(iids text[]) returns boolean
language plpgsql stable parallel safe
as $$
declare
    mbus4_iid text;
begin
    foreach mbus4_iid in array coalesce($1, '{}') loop
        if exists (select from mbus4.message m
                   where m.iid = mbus4_iid
                     and (m.expires is null or m.expires > pg_catalog.clock_timestamp() or m.consumer_id = 1)
                     and exists (select from mbus4.consumer c where c.id = m.consumer_id)) then
            return true;
        end if;
        if mbus4_iid ~ '[.][1-9][0-9]{16,33}$' then -- it may say where the message stands; by itself, for what is not reached is not set up
            if exists (
                    select from mbus4.places_of_iid(mbus4_iid) p
                    join mbus4.consumer c on c.qname = p.queue
                    join mbus4.message m on m.consumer_id = c.id and m.available_at = p.available_at and m.id = p.id
                    where m.iid is null and (m.expires is null or m.expires > pg_catalog.clock_timestamp() or m.consumer_id = 1)) then
                return true;
            end if;
        end if;
    end loop;
    return false;
end
$$;

-- As forward. How ids are drawn: see post_id in the next step, and engine/calls/sql/part/message_id.sql.
create or replace function mbus4.copy_along_triggers(queue text, t mbus4.qt_model, headers {{.Hstore}}.hstore, delayed_until timestamptz, expires timestamptz, after text[])
returns bigint
language plpgsql volatile
set plan_cache_mode = force_generic_plan set jit = off set enable_seqscan = off
as $$
#variable_conflict use_column
declare
    mbus4_copies bigint;
begin
    with recursive given as (
        select {{.Bound}}.hstore('enqueue_time'::text, ($2).headers operator({{.Bound}}.->) 'enqueue_time'::text)
                   operator({{.Bound}}.||) coalesce($3, '') as headers
    ), way (queue, path, id, added) as (
        select c.target, array[$1, c.target],
               case when pg_catalog.pg_try_advisory_xact_lock_shared(1835169140, pg_catalog.hashtext(c.target) & 63) then pg_catalog.nextval('mbus4.post_id')
                    when pg_catalog.nextval('mbus4.message_id') > 0 then pg_catalog.nextval('mbus4.post_id') end,
               pg_catalog.clock_timestamp()
        from (
            select case when exists (select from mbus4.consumer c where c.qname = $1 and c.target is not null and c.selector_id is not null)
                        then mbus4.selecting_consumers($1, true, $2) end as selecting
            offset 0
        ) s
        join mbus4.consumer c on c.qname = $1 and c.target <> $1 and (c.selector_id is null or c.id = any(s.selecting))
        union all
        select c.target, w.path || c.target,
               case when pg_catalog.pg_try_advisory_xact_lock_shared(1835169140, pg_catalog.hashtext(c.target) & 63) then pg_catalog.nextval('mbus4.post_id')
                    when pg_catalog.nextval('mbus4.message_id') > 0 then pg_catalog.nextval('mbus4.post_id') end,
               pg_catalog.clock_timestamp()
        from way w
        cross join lateral (
            select case when exists (select from mbus4.consumer c where c.qname = w.queue and c.target is not null and c.selector_id is not null)
                        then mbus4.selecting_consumers(w.queue, true, mbus4.copy_of($2, w.queue, w.id, w.added, (select g.headers from given g), $4, $5, $6)) end as selecting
            offset 0
        ) s
        join mbus4.consumer c on c.qname = w.queue and (c.selector_id is null or c.id = any(s.selecting))
        where c.target <> all (w.path)
    ), copy as materialized (
        select w.queue, w.id, w.added,
               case when w.queue = 'dmq' then w.added else greatest($4, w.added) end as at,
               case when w.queue <> 'dmq' and pg_catalog.cardinality($6) > 0 then $6 end as after,
               w.queue <> 'dmq' and mbus4.awaits_delivery($6) as parked
        from way w
    ), stored as (
        insert into mbus4.message (id, consumer_id, available_at, added, iid, delayed_until, expires, headers, properties, data, after)
        select y.id, c.id, case when y.parked then 'infinity' else y.at end, y.added,
               case when y.after is not null or y.at >= '2200-01-01Z' then y.queue || '.' || pg_catalog.current_database() || '.' || y.id end,
               $4, $5, (select g.headers from given g), ($2).properties, ($2).data, y.after
        from copy y
        cross join lateral (
            select case when exists (select from mbus4.consumer c where c.qname = y.queue and c.target is null and c.selector_id is not null)
                        then mbus4.selecting_consumers(y.queue, false, mbus4.copy_of($2, y.queue, y.id, y.added, (select g.headers from given g), $4, $5, $6)) end as selecting
            offset 0
        ) s
        join mbus4.consumer c on c.qname = y.queue and c.target is null and (c.selector_id is null or c.id = any(s.selecting))
        returning id, consumer_id
    ), waits as (
        insert into mbus4.waiting (dep, consumer_id, id)
        select distinct dep, s.consumer_id, s.id
        from stored s
        join copy y on y.id = s.id and y.parked
        cross join pg_catalog.unnest(y.after) dep
        where dep is not null
    )
    select pg_catalog.count(*) into mbus4_copies from stored;
    return mbus4_copies;
end
$$;

-- As they were, but for the functions that they call.
create or replace function mbus4.undelivered(iid text) returns setof mbus4.message
language sql stable parallel safe rows 2
as $$
    select m.*
    from mbus4.message m
    where m.iid = $1
      and (m.expires is null or m.expires > pg_catalog.clock_timestamp() or m.consumer_id = 1)
      and exists (select from mbus4.consumer c where c.id = m.consumer_id)
    union all
    select m.*
    from mbus4.places_of_iid($1) p
    join mbus4.consumer c on c.qname = p.queue
    join mbus4.message m on m.consumer_id = c.id and m.available_at = p.available_at and m.id = p.id
    where m.iid is null and (m.expires is null or m.expires > pg_catalog.clock_timestamp() or m.consumer_id = 1)
$$;

create or replace function mbus4.wakeable(iids text[]) returns tid[]
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

-- Some pages that stay, as for mbus4.message: a plan made while there are few names would read them all, and stay when there are many.
alter table mbus4.queue set (vacuum_truncate = off);
alter table mbus4.consumer set (vacuum_truncate = off);
alter table mbus4.selector set (vacuum_truncate = off);
-- What ANALYZE saw of them says nothing: a queue may have one consumer, or nearly all that there are.
alter table mbus4.consumer
    alter column qname set statistics 0,
    alter column queue_id set statistics 0,
    alter column target set statistics 0;
alter table mbus4.queue add column filler text; -- the names would fill the indexes, too
insert into mbus4.queue (id, qname, consumers_cnt, filler) overriding system value
select -n, '-' || n, 0, repeat(md5(n::text), 32) from generate_series(1, 120) n;
delete from mbus4.queue where id < 0;
alter table mbus4.queue drop column filler;
insert into mbus4.consumer (id, qname, name, target, selector) overriding system value
select -n, '-' || n, 'TRIGGER ', '', repeat(md5(n::text), 32) from generate_series(1, 120) n;
delete from mbus4.consumer where id < 0;
insert into mbus4.selector (id, text, condition, can_fail, version, major, maker)
select -n, '', repeat(md5(n::text), 32), false, 0, 0, '' from generate_series(1, 120) n;
delete from mbus4.selector where maker = '';
