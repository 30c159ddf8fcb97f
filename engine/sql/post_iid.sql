-- As post.sql, for calls that may give an iid of their own: a consumer that has an undelivered
-- message under it gets no second one, and where all have one the post fails.
{c}_p as materialized (
    select a.n, nextval('mbus4.message_id') as id, clock_timestamp() as added, lower(a.qname) as queue,
           a.iid as given,
           a.delayed_until::timestamptz as delayed_until, a.expires::timestamptz as expires,
           case when a.headers operator({hstore}.->) 'seenby' is null then a.headers
                else a.headers operator({hstore}.||) {hstore}.hstore('seenby',
                    array_append((a.headers operator({hstore}.->) 'seenby')::text[], current_database()::text)::text)
           end as headers,
           a.properties, a.data
    from {c}_a a
),
{c}_w as materialized (
    select p.*, c.id as consumer_id, coalesce(p.given, p.queue || '.' || current_database() || '.' || p.id) as iid
    from {c}_p p
    left join mbus4.consumer c on c.queue = p.queue
),
{c}_m as (
    insert into mbus4.message (id, consumer_id, available_at, added, iid, delayed_until, expires, headers, properties, data)
    select w.id, w.consumer_id, greatest(w.delayed_until, w.added), w.added, w.iid,
           w.delayed_until, w.expires, w.headers, w.properties, w.data
    from {c}_w w
    where w.consumer_id is not null and w.headers operator({hstore}.->) 'consume_after' is null
    on conflict (iid, consumer_id) do nothing
    returning id
),
{c} as (
    select w.n,
           case when not exists (select from mbus4.queue q where q.name = min(w.queue))
                    then format('mbus4-error {k} 42704 queue %s does not exist', coalesce('"' || min(w.queue) || '"', 'null'))::int::text
                when bool_or(w.headers operator({hstore}.->) 'consume_after' is not null)
                    then format('mbus4-error {k} 0A000 the header consume_after of a message for queue "%s" is not supported yet', min(w.queue))::int::text
                when count(w.consumer_id) = 0 or count(m.id) > 0 then min(w.iid)
                else format('mbus4-error {k} 23505 a message with iid "%s" is still waiting in queue "%s"', min(w.iid), min(w.queue))::int::text
           end as post
    from {c}_w w
    left join (select distinct id from {c}_m) m on m.id = w.id
    group by w.n
)
