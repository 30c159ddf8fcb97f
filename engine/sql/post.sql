-- One row for each consumer of the queue. A message that no consumer wants is not stored, but its
-- iid is given all the same. nextval comes before the clock: from then on the Hinter knows of the
-- message. The headers that are not the caller's follow from the row when it is read.
{c}_p as materialized (
    select x.n, x.id, x.queue, x.consumers, x.delayed_until, x.expires, x.properties, x.data,
           pg_catalog.clock_timestamp() as added, x.prefix || x.id as iid
    from (
        select a.n, pg_catalog.nextval('mbus4.message_id') as id, pg_catalog.lower(a.qname) as queue,
               (select pg_catalog.lower(a.qname) || '.' || pg_catalog.current_database() || '.') as prefix,
               (select pg_catalog.array_agg(c.id) from mbus4.consumer c where c.queue = pg_catalog.lower(a.qname)) as consumers,
               a.delayed_until::timestamptz as delayed_until, a.expires::timestamptz as expires, a.properties, a.data
        from {c}_a a
        offset 0
    ) x
),
{c}_m as (
    insert into mbus4.message (id, consumer_id, available_at, added, iid, delayed_until, expires, properties, data)
    select p.id, pg_catalog.unnest(p.consumers), greatest(p.delayed_until, p.added), p.added, p.iid, p.delayed_until, p.expires, p.properties, p.data
    from {c}_p p
),
{c} as (
    select p.n,
           case when p.consumers is not null or exists (select from mbus4.queue q where q.name = p.queue) then p.iid
                else pg_catalog.format('mbus4-error {k} 42704 queue %s does not exist', coalesce('"' || p.queue || '"', 'null'))::int::text
           end as post
    from {c}_p p
)
