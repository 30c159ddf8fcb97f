-- One row for each consumer of the queue. A message that no consumer wants is not stored, but its
-- iid is given all the same. nextval comes first: from then on the Hinter knows of the message.
{c}_p as materialized (
    select a.n, nextval('mbus4.message_id') as id, clock_timestamp() as added,
           coalesce(q.id, format('mbus4-error {k} 42704 queue %s does not exist', coalesce('"' || a.qname || '"', 'null'))::int) as queue_id,
           q.name as queue,
           case when a.headers operator({hstore}.->) 'consume_after' is null then true
                else format('mbus4-error {k} 0A000 the header consume_after of a message for queue "%s" is not supported yet', a.qname)::int = 0
           end as may,
           a.delayed_until::timestamptz as delayed_until, a.expires::timestamptz as expires,
           coalesce(a.headers, '') as headers, a.properties, a.data
    from {c}_a a
    left join mbus4.queue q on q.name = lower(a.qname)
),
{c}_m as (
    insert into mbus4.message (id, consumer_id, available_at, added, iid, delayed_until, expires, headers, properties, data)
    select p.id, c.id, greatest(p.delayed_until, p.added), p.added,
           p.queue || '.' || current_database() || '.' || p.id,
           p.delayed_until, p.expires,
           {hstore}.hstore(array['enqueue_time', p.added::text, 'source_db', current_database(), 'destination_queue', p.queue])
               operator({hstore}.||) p.headers
               operator({hstore}.||) {hstore}.hstore('seenby',
                   array_append((p.headers operator({hstore}.->) 'seenby')::text[], current_database()::text)::text),
           p.properties, p.data
    from {c}_p p
    join mbus4.consumer c on c.queue_id = p.queue_id
    where p.may
),
{c} as (
    select p.n, p.queue || '.' || current_database() || '.' || p.id as post from {c}_p p where p.may
)
