-- Removes the message for all its consumers and gives one of the copies. Waits for rows that another
-- transaction holds.
{c}_d as (
    delete from mbus4.message m
    using {c}_a a, mbus4.consumer c
    where m.iid = a.msgid and c.id = m.consumer_id and (m.expires is null or m.expires > pg_catalog.clock_timestamp())
    returning a.n, m.*, c.queue
),
{wake}
{c} as (
    select a.n, d.r as take
    from {c}_a a
    left join (
        select distinct on (d.n) d.n,
               row(d.id, d.added, d.iid, d.delayed_until, d.expires, d.received,
                   {hstore}.hstore(array['source_db', pg_catalog.current_database(), 'destination_queue', d.queue, 'seenby', array[pg_catalog.current_database()::text]::text,
                   'enqueue_time', d.added::text])
                   operator({hstore}.||) coalesce(d.headers, '')
                   operator({hstore}.||) {hstore}.hstore('destination', d.queue),
                   d.properties, d.data)::mbus4.qt_model as r
        from {c}_d d
        order by d.n, d.id, d.consumer_id
    ) d on d.n = a.n
)
