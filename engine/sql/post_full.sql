-- As post.sql, for calls that give headers or an iid.
-- A consumer that has an undelivered message under the iid gets no second one, and where all have one
-- the post fails. A message that must wait for another is parked (see migrations/0002_ordering.sql).
{c}_p as materialized (
    select a.n, pg_catalog.nextval('mbus4.message_id') as id, pg_catalog.clock_timestamp() as added, pg_catalog.lower(a.qname) as queue,
           a.iid as given,
           a.delayed_until::timestamptz as delayed_until, a.expires::timestamptz as expires,
           case when a.headers operator({hstore}.->) 'seenby' is null then a.headers
                else a.headers operator({hstore}.||) {hstore}.hstore('seenby',
                    pg_catalog.array_append((a.headers operator({hstore}.->) 'seenby')::text[], pg_catalog.current_database()::text)::text)
           end as headers,
           (a.headers operator({hstore}.->) 'consume_after')::text[] as after,
           a.properties, a.data
    from {c}_a a
),
{c}_w as materialized (
    select p.n, p.id, p.added, p.queue, p.delayed_until, p.expires, p.headers, p.properties, p.data,
           c.id as consumer_id,
           coalesce(p.given, p.queue || '.' || pg_catalog.current_database() || '.' || p.id) as iid,
           case when p.queue <> 'dmq' and pg_catalog.cardinality(p.after) > 0 then p.after end as after,
           p.queue <> 'dmq' and p.after is not null and exists (
               select from pg_catalog.unnest(p.after) d (dep)
               cross join lateral (
                   select from mbus4.message o
                   join mbus4.consumer oc on oc.id = o.consumer_id
                   where o.iid = d.dep and (o.expires is null or o.expires > p.added)
                   order by o.iid, o.consumer_id
                   limit 1
               ) alive) as parked
    from {c}_p p
    left join mbus4.consumer c on c.queue = p.queue
),
{c}_m as (
    insert into mbus4.message (id, consumer_id, available_at, added, iid, delayed_until, expires, headers, properties, data, after)
    select w.id, w.consumer_id, case when w.parked then 'infinity' else greatest(w.delayed_until, w.added) end, w.added, w.iid,
           w.delayed_until, w.expires, w.headers, w.properties, w.data, w.after
    from {c}_w w
    where w.consumer_id is not null
    on conflict (iid, consumer_id) do nothing
    returning id, consumer_id
),
{c}_g as (
    insert into mbus4.waiting (dep, consumer_id, id)
    select distinct dep, m.consumer_id, m.id
    from {c}_m m
    join {c}_w w on w.id = m.id and w.consumer_id = m.consumer_id and w.parked
    cross join pg_catalog.unnest(w.after) dep
    where dep is not null
),
{c} as (
    select w.n,
           case when not exists (select from mbus4.queue q where q.name = pg_catalog.min(w.queue))
                    then pg_catalog.format('mbus4-error {k} 42704 queue %s does not exist', coalesce('"' || pg_catalog.min(w.queue) || '"', 'null'))::int::text
                when pg_catalog.count(w.consumer_id) = 0 or pg_catalog.count(m.id) > 0 then pg_catalog.min(w.iid)
                else pg_catalog.format('mbus4-error {k} 23505 a message with iid "%s" is still waiting in queue "%s"', pg_catalog.min(w.iid), pg_catalog.min(w.queue))::int::text
           end as post
    from {c}_w w
    left join (select distinct id from {c}_m) m on m.id = w.id
    group by w.n
)
