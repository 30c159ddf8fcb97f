-- One row for each consumer of the queue that selects the message. A message that no consumer wants is
-- not stored, but its iid is given all the same. nextval comes before the clock: from then on the Hinter
-- knows of the message. The headers that are not the caller's follow from the row when it is read, and
-- so does the iid, unless it does not fit (see migrations/0003_iids.sql). Expressions of one list are
-- evaluated in its order.
{subscribers}
{c}_p as materialized (
    select z.n, z.id, z.queue, z.added, z.at, z.delayed_until, z.expires, z.properties, z.data, z.iid,
           case when r.choosy then pg_catalog.array_cat(r.consumers, (
                    select pg_catalog.array_agg(c.id)
                    from mbus4.consumer c
                    {selective:z;null::{hstore}.hstore}
                    where c.queue = z.queue and c.target is null and c.selector_id is not null and {selects:z;null::{hstore}.hstore}))
                else r.consumers end as consumers,
           case when r.routed then mbus4.forward(z.queue, {target:z;null::{hstore}.hstore}, z.delayed_until, z.expires, null) end as copies
    from (
        select y.*, y.prefix || case when y.at < '2200-01-01Z' then (extract(epoch from y.at) * 1000000)::bigint::text else '' end || y.id as iid
        from (
            select x.*, greatest(x.delayed_until, x.added) as at
            from (
                select a.n, pg_catalog.nextval('mbus4.message_id') as id, pg_catalog.clock_timestamp() as added, pg_catalog.lower(a.qname) as queue,
                       (select pg_catalog.lower(a.qname) || '.' || pg_catalog.current_database() || '.') as prefix,
                       a.delayed_until::timestamptz as delayed_until, a.expires::timestamptz as expires, a.properties, a.data
                from {c}_a a
                offset 0
            ) x
        ) y
        offset 0
    ) z
    {join_subscribers}
),
{c}_m as (
    insert into mbus4.message (id, consumer_id, available_at, added, iid, delayed_until, expires, properties, data)
    select p.id, pg_catalog.unnest(p.consumers), p.at, p.added, case when p.at >= '2200-01-01Z' then p.iid end, p.delayed_until, p.expires, p.properties, p.data
    from {c}_p p
),
{c} as (
    select p.n,
           case when p.consumers is not null or exists (select from mbus4.queue q where q.name = p.queue) then p.iid
                else pg_catalog.format('mbus4-error {k} 42704 queue %s does not exist', coalesce('"' || p.queue || '"', 'null'))::int::text
           end as post
    from {c}_p p
)
