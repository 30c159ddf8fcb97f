-- One row for each consumer of the queue. A message that no consumer wants is not stored, but its
-- iid is given all the same. nextval comes first: from then on the Hinter knows of the message.
-- Only what the caller gave is stored of the headers; the others follow from the row when it is read.
{c}_p as materialized (
    select a.n, nextval('mbus4.message_id') as id, clock_timestamp() as added, lower(a.qname) as queue,
           a.delayed_until::timestamptz as delayed_until, a.expires::timestamptz as expires,
           case when a.headers operator({hstore}.->) 'seenby' is null then a.headers
                else a.headers operator({hstore}.||) {hstore}.hstore('seenby',
                    array_append((a.headers operator({hstore}.->) 'seenby')::text[], current_database()::text)::text)
           end as headers,
           a.properties, a.data
    from {c}_a a
),
{c}_m as (
    insert into mbus4.message (id, consumer_id, available_at, added, iid, delayed_until, expires, headers, properties, data)
    select p.id, c.id, greatest(p.delayed_until, p.added), p.added,
           p.queue || '.' || current_database() || '.' || p.id,
           p.delayed_until, p.expires, p.headers, p.properties, p.data
    from {c}_p p
    join mbus4.consumer c on c.queue = p.queue
    where p.headers operator({hstore}.->) 'consume_after' is null
),
{c} as (
    select p.n,
           case when not exists (select from mbus4.queue q where q.name = p.queue)
                    then format('mbus4-error {k} 42704 queue %s does not exist', coalesce('"' || p.queue || '"', 'null'))::int::text
                when p.headers operator({hstore}.->) 'consume_after' is not null
                    then format('mbus4-error {k} 0A000 the header consume_after of a message for queue "%s" is not supported yet', p.queue)::int::text
                else p.queue || '.' || current_database() || '.' || p.id
           end as post
    from {c}_p p
)
