-- As post.sql, for calls that may give an iid of their own: a consumer that has an undelivered
-- message under it gets no second one, and where all have one the post fails.
{c}_p as materialized (
    select a.n, nextval('mbus4.message_id') as id, clock_timestamp() as added,
           coalesce(q.id, format('mbus4-error {k} 42704 queue %s does not exist', coalesce('"' || a.qname || '"', 'null'))::int) as queue_id,
           q.name as queue,
           case when a.headers operator({hstore}.->) 'consume_after' is null then true
                else format('mbus4-error {k} 0A000 the header consume_after of a message for queue "%s" is not supported yet', a.qname)::int = 0
           end as may,
           a.iid as given,
           a.delayed_until::timestamptz as delayed_until, a.expires::timestamptz as expires,
           coalesce(a.headers, '') as headers, a.properties, a.data
    from {c}_a a
    left join mbus4.queue q on q.name = lower(a.qname)
),
{c}_w as materialized (
    select p.*, c.id as consumer_id, coalesce(p.given, p.queue || '.' || current_database() || '.' || p.id) as iid
    from {c}_p p
    left join mbus4.consumer c on c.queue_id = p.queue_id
    where p.may
),
{c}_m as (
    insert into mbus4.message (id, consumer_id, available_at, added, iid, delayed_until, expires, headers, properties, data)
    select p.id, p.consumer_id, greatest(p.delayed_until, p.added), p.added, p.iid,
           p.delayed_until, p.expires,
           {hstore}.hstore(array['enqueue_time', p.added::text, 'source_db', current_database(), 'destination_queue', p.queue])
               operator({hstore}.||) p.headers
               operator({hstore}.||) {hstore}.hstore('seenby',
                   array_append((p.headers operator({hstore}.->) 'seenby')::text[], current_database()::text)::text),
           p.properties, p.data
    from {c}_w p
    where p.consumer_id is not null
    on conflict (iid, consumer_id) do nothing
    returning id
),
{c} as (
    select w.n,
           case when count(w.consumer_id) = 0 or count(m.id) > 0 then min(w.iid)
                else format('mbus4-error {k} 23505 a message with iid "%s" is still waiting in queue "%s"', min(w.iid), min(w.queue))::int::text
           end as post
    from {c}_w w
    left join (select distinct id from {c}_m) m on m.id = w.id
    group by w.n
)
