-- At most amt messages, the longest deliverable first. The scan starts at the consumer's hint: what
-- lies below it is gone, though an old snapshot may keep its index entries (see Hinter). An array of
-- row addresses keeps the planner from guessing how many there are. The conditions are written so that
-- it takes most rows in the range for matches: else it fetches and sorts a whole backlog (see
-- TestConsumePlanIsStable).
{c}_k as materialized (
    select {consumer:a;c} as id,
           {amt} as amt,
           pg_catalog.clock_timestamp() as now,
           {hint:c.id} as low,
           c.queue,
           {hstore}.hstore(array['source_db', pg_catalog.current_database()::text, 'destination_queue', c.queue, 'destination', c.queue,
               'seenby', array[pg_catalog.current_database()::text]::text]) as headers,
           {hstore}.hstore('destination'::text, c.queue) as destination
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
          and {deliverable:x;(select k.now from {c}_k k)}
          {also}
        order by x.available_at, x.id
        limit (select k.amt from {c}_k k)
        for update skip locked
    ))
    returning m.id, m.consumer_id, m.available_at, m.added, m.delayed_until, m.expires, m.received, m.headers, m.properties, m.data,
              coalesce(m.iid, {iid:(select k.queue from {c}_k k);m.available_at;m.id}) as iid
),
{wake}
{c} as (
    select 1::bigint as n,
           row(d.id, d.added, d.iid, d.delayed_until, d.expires, d.received,
               case when d.headers is null
                   then k.headers operator({hstore}.||) {hstore}.hstore('enqueue_time'::text, d.added::text)
                   else k.headers operator({hstore}.||) {hstore}.hstore('enqueue_time'::text, d.added::text)
                       operator({hstore}.||) d.headers operator({hstore}.||) k.destination
               end,
               d.properties, d.data)::mbus4.qt_model as {result}
    from {c}_d d, {c}_k k
    order by d.available_at, d.id
)
