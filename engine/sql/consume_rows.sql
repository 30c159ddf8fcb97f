-- As consume.sql, for a call that is evaluated for each row of a set: what the rows want of one
-- consumer is fetched at once and shared out in the order of the rows.
{c}_k as materialized (
    select a.n, {amt} as amt, c.queue,
           coalesce(
               c.id,
               (case when exists (select from mbus4.queue q where q.name = pg_catalog.lower(a.qname))
                     then pg_catalog.format('mbus4-error {k} 42704 queue "%s" has no consumer %s', a.qname, coalesce('"' || a.cname || '"', 'null'))
                     else pg_catalog.format('mbus4-error {k} 42704 queue %s does not exist', coalesce('"' || a.qname || '"', 'null'))
                end)::int) as id
    from {c}_a a
    left join mbus4.consumer c on c.queue = pg_catalog.lower(a.qname) and c.name = pg_catalog.lower(a.cname)
),
{c}_t as materialized (
    select k.id, pg_catalog.sum(k.amt) as amt, pg_catalog.clock_timestamp() as now,
           pg_catalog.to_timestamp(coalesce(pg_catalog.pg_sequence_last_value(('mbus4.hint_' || k.id % 128)::regclass), 0) / 1000000.0) as low
    from {c}_k k
    group by k.id
),
{c}_s as materialized (
    select x.tid
    from {c}_t t
    cross join lateral (
        select m.ctid as tid
        from mbus4.message m
        where m.consumer_id = t.id
          and (m.available_at, m.id) >= (t.low, 0)
          and m.available_at <= t.now
          and (case when m.expires <= t.now then null
                    when m.after is not null and exists (
                        select from pg_catalog.unnest(m.after) d (dep)
                        cross join lateral (
                            select from mbus4.message o
                            join mbus4.consumer oc on oc.id = o.consumer_id
                            where o.iid = d.dep and (o.expires is null or o.expires > pg_catalog.clock_timestamp())
                            order by o.iid, o.consumer_id
                            limit 1
                        ) alive) then null
                    else 0 end) is not null
        order by m.available_at, m.id
        limit t.amt
        for update skip locked
    ) x
),
{c}_d as (
    delete from mbus4.message m where m.ctid = any(array(select s.tid from {c}_s s)) returning m.*
),
{wake}
{c}_o as (
    select d.*, pg_catalog.row_number() over (partition by d.consumer_id order by d.available_at, d.id) as place from {c}_d d
),
{c} as (
    select r.n,
           row(d.id, d.added, d.iid, d.delayed_until, d.expires, d.received,
               {hstore}.hstore(array['source_db', pg_catalog.current_database(), 'destination_queue', r.queue, 'seenby', array[pg_catalog.current_database()::text]::text,
                   'enqueue_time', d.added::text])
                   operator({hstore}.||) coalesce(d.headers, '')
                   operator({hstore}.||) {hstore}.hstore('destination', r.queue),
               d.properties, d.data)::mbus4.qt_model as {result},
           d.place as o
    from (select k.n, k.id, k.queue, k.amt, pg_catalog.sum(k.amt) over (partition by k.id order by k.n) as upto from {c}_k k) r
    join {c}_o d on d.consumer_id = r.id and d.place > r.upto - r.amt and d.place <= r.upto
    order by r.n, d.place
)
