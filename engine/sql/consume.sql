-- At most amt messages, the longest deliverable first. The scan starts at the consumer's hint: what
-- lies below it is gone, though an old snapshot may keep its index entries (see Hinter). An array of
-- row addresses keeps the planner from guessing how many there are. The conditions are written so that
-- it takes most rows in the range for matches: else it fetches and sorts a whole backlog (see
-- TestConsumePlanIsStable).
{c}_k as materialized (
    select coalesce(
               c.id,
               (case when exists (select from mbus4.queue q where q.name = pg_catalog.lower(a.qname))
                     then pg_catalog.format('mbus4-error {k} 42704 queue "%s" has no consumer %s', a.qname, coalesce('"' || a.cname || '"', 'null'))
                     else pg_catalog.format('mbus4-error {k} 42704 queue %s does not exist', coalesce('"' || a.qname || '"', 'null'))
                end)::int) as id,
           {amt} as amt,
           pg_catalog.clock_timestamp() as now,
           pg_catalog.to_timestamp(coalesce(pg_catalog.pg_sequence_last_value(('mbus4.hint_' || c.id % 128)::regclass), 0) / 1000000.0) as low,
           {hstore}.hstore(array['source_db', pg_catalog.current_database(), 'destination_queue', c.queue, 'destination', c.queue,
               'seenby', array[pg_catalog.current_database()::text]::text]) as headers,
           {hstore}.hstore('destination', c.queue) as destination
    from {c}_a a
    left join mbus4.consumer c on c.queue = pg_catalog.lower(a.qname) and c.name = pg_catalog.lower(a.cname)
),
{c}_d as (
    delete from mbus4.message m
    where m.ctid = any(array(
        select x.ctid
        from mbus4.message x
        where x.consumer_id = (select k.id from {c}_k k)
          and (x.available_at, x.id) >= ((select k.low from {c}_k k), 0)
          and x.available_at <= (select k.now from {c}_k k)
          and (case when x.expires <= (select k.now from {c}_k k) then null
                    when x.after is not null and exists (
                        select from pg_catalog.unnest(x.after) d (dep)
                        cross join lateral (
                            select from mbus4.message o
                            join mbus4.consumer oc on oc.id = o.consumer_id
                            where o.iid = d.dep and (o.expires is null or o.expires > pg_catalog.clock_timestamp())
                            order by o.iid, o.consumer_id
                            limit 1
                        ) alive) then null
                    else 0 end) is not null
        order by x.available_at, x.id
        limit (select k.amt from {c}_k k)
        for update skip locked
    ))
    returning m.*
),
{wake}
{c} as (
    select 1::bigint as n,
           row(d.id, d.added, d.iid, d.delayed_until, d.expires, d.received,
               case when d.headers is null
                   then k.headers operator({hstore}.||) {hstore}.hstore('enqueue_time', d.added::text)
                   else k.headers operator({hstore}.||) {hstore}.hstore('enqueue_time', d.added::text)
                       operator({hstore}.||) d.headers operator({hstore}.||) k.destination
               end,
               d.properties, d.data)::mbus4.qt_model as {result}
    from {c}_d d, {c}_k k
    order by d.available_at, d.id
)
