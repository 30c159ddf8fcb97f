-- Puts dead messages into queues, and gives how many of them nobody else has locked, and how many went. Each goes to where it came from, $3 null, or into that queue; for
-- the consumer that it came from, or for $4, or where that is null for those that select it: under its iid, with no attempt counted; triggers do not copy it. It does
-- what redrive does (engine/calls/sql/whole/redrive.sql). Those stay that cannot go there. $1 and $2 say where they stand, $5 and $6 the operation and its batch, whose
-- log is written.
with dead as materialized (
    select m.*
    from unnest($1::pg_catalog.timestamptz[], $2::bigint[]) p (at, id)
    cross join lateral (
        select m.ctid as place, m.*
        from mbus4.message m
        where m.consumer_id = 1 and m.available_at = p.at and m.id = p.id
        for update skip locked
    ) m
), named as materialized (
    select d.*,
           coalesce($3::pg_catalog.text, d.headers operator(mbus4_hstore.->) 'destination'::pg_catalog.text) as queue,
           case when $3::pg_catalog.text is null then d.headers operator(mbus4_hstore.->) 'dmq.consumer'::pg_catalog.text else $4::pg_catalog.text end as consumer,
           coalesce(d.headers operator(mbus4_hstore.->) 'dmq.iid'::pg_catalog.text, mbus4.iid_of(d.iid, 'dmq', d.available_at, d.id)) as own_iid,
           d.headers operator(mbus4_hstore.-) array['destination', 'dmq.added', 'dmq.error', 'dmq.consumer', 'dmq.iid', 'retry.attempt', 'retry.first', 'retry.last', 'retry.error'] as kept,
           nullif(d.headers operator(mbus4_hstore.->) 'seenby'::pg_catalog.text, array[current_database()::pg_catalog.text]::pg_catalog.text) as seen,
           d.headers operator(mbus4_hstore.->) 'consume_after'::pg_catalog.text as wanted
    from dead d
), sound as materialized (
    select n.*, nullif(mbus4.array_of(n.wanted), '{}') as deps,
           case when n.seen is null then n.kept operator(mbus4_hstore.-) 'seenby'::pg_catalog.text
                else n.kept operator(mbus4_hstore.||) mbus4_hstore.hstore('seenby'::pg_catalog.text, array_append(mbus4.array_of(n.seen), current_database()::pg_catalog.text)::pg_catalog.text) end as now_headers
    from named n
    where n.queue <> 'dmq' and (n.expires is null or n.expires > statement_timestamp()) and exists (select from mbus4.queue q where q.qname = n.queue)
      and (n.seen is null or mbus4.array_of(n.seen) is not null) and (n.wanted is null or mbus4.array_of(n.wanted) is not null)
), drawn as materialized (
    -- See engine/calls/sql/part/message_id.sql. The clock is read after it.
    select s.*,
           case when pg_try_advisory_xact_lock_shared(1835169140, hashtext(s.queue) & 63) then nextval('mbus4.post_id')
                when nextval('mbus4.message_id') > 0 then nextval('mbus4.post_id') end as new,
           exists (select from unnest(s.deps) d (iid) cross join lateral mbus4.undelivered(d.iid)) as parked
    from sound s
), timed as materialized (
    select d.*, case when d.new > 0 then clock_timestamp() end as now from drawn d
), got as materialized (
    select t.new, c.id as consumer_id
    from timed t
    cross join lateral (
        select c.id
        from mbus4.consumer c
        where c.qname = t.queue and c.target is null
          and case when t.consumer is not null then c.name = t.consumer
                   when c.selector_id is null then true
                   else mbus4.receives(c, t.queue, t.new, t.now, t.own_iid, null, t.expires, t.now_headers, t.properties, t.data, null, false, null) end
    ) c
), stored as (
    insert into mbus4.message (id, consumer_id, available_at, added, iid, expires, headers, properties, data, after)
    select t.new, g.consumer_id, case when t.parked then 'infinity' else t.now end, t.now, t.own_iid, t.expires, t.now_headers, t.properties, t.data, t.deps
    from got g
    join timed t on t.new = g.new
    where (
        select 1
        from mbus4.places_of_iid(t.own_iid) i
        join mbus4.message o on o.consumer_id = g.consumer_id and o.available_at = i.available_at and o.id = i.id
        where i.queue = t.queue and o.iid is null
        for key share of o) is null
    on conflict (iid, consumer_id) where iid is not null do nothing
    returning id, consumer_id
), put as materialized (
    select t.*, s.consumers
    from (select s.id, array_agg(s.consumer_id) as consumers from stored s group by s.id) s
    join timed t on t.new = s.id
), waits as (
    insert into mbus4.waiting (dep, consumer_id, id)
    select d.dep, c.id, p.new
    from put p
    cross join unnest(p.deps) d (dep)
    cross join unnest(p.consumers) c (id)
    where p.parked and d.dep is not null
    on conflict do nothing
), gone as (
    delete from mbus4.message m where m.ctid = any(array(select p.place from put p))
), logged as (
    insert into mbus4.operation_log (operation, batch, messages)
    select $5, $6, array_agg(row(p.own_iid, p.new, p.consumers, p.added, p.delayed_until, p.headers operator(mbus4_hstore.-) p.now_headers)::mbus4.redriven_message)
    from put p
    having count(*) > 0
)
select (select count(*) from dead), (select count(*) from put)
