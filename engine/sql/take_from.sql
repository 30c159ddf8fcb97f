-- Receives the message for one consumer. Waits for a row that another transaction holds.
{c}_k as materialized (
    select a.n, a.msgid, c.queue,
           coalesce(
               c.id,
               (case when exists (select from mbus4.queue q where q.name = pg_catalog.lower(a.qname))
                     then pg_catalog.format('mbus4-error {k} 42704 queue "%s" has no consumer %s', a.qname, coalesce('"' || a.cname || '"', 'null'))
                     else pg_catalog.format('mbus4-error {k} 42704 queue %s does not exist', coalesce('"' || a.qname || '"', 'null'))
                end)::int) as id
    from {c}_a a
    left join mbus4.consumer c on c.queue = pg_catalog.lower(a.qname) and c.name = pg_catalog.lower(a.cname)
),
{c}_d as (
    delete from mbus4.message m
    using {c}_k k
    where m.iid = k.msgid and m.consumer_id = k.id and (m.expires is null or m.expires > pg_catalog.clock_timestamp())
    returning k.n, m.*
),
{wake}
{c} as (
    select k.n,
           case when d.id is not null then
               row(d.id, d.added, d.iid, d.delayed_until, d.expires, d.received,
                   {hstore}.hstore(array['source_db', pg_catalog.current_database(), 'destination_queue', k.queue, 'seenby', array[pg_catalog.current_database()::text]::text,
                   'enqueue_time', d.added::text])
                   operator({hstore}.||) coalesce(d.headers, '')
                   operator({hstore}.||) {hstore}.hstore('destination', k.queue),
                   d.properties, d.data)::mbus4.qt_model
           end as take_from
    from {c}_k k
    left join {c}_d d on d.n = k.n
)
