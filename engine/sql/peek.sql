(select (
    select row(m.id, m.added, m.iid, m.delayed_until, m.expires, m.received,
               {hstore}.hstore(array['source_db', pg_catalog.current_database(), 'destination_queue', c.queue, 'seenby', array[pg_catalog.current_database()::text]::text,
                   'enqueue_time', m.added::text])
                   operator({hstore}.||) coalesce(m.headers, '')
                   operator({hstore}.||) {hstore}.hstore('destination', c.queue),
               m.properties, m.data)::mbus4.qt_model
    from mbus4.message m
    join mbus4.consumer c on c.id = m.consumer_id
    where m.iid = a.msgid and (m.expires is null or m.expires > pg_catalog.clock_timestamp())
    order by m.id, m.consumer_id
    limit 1) as {name}
from (select {msgid} as msgid) a)
