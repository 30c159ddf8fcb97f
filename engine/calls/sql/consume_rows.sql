-- As consume.sql, for a call that is evaluated for each row of a set: what the rows want of one
-- consumer is fetched at once and shared out in the order of the rows.
{c}_k as materialized (
    select a.n, {amt} as amt, c.queue, {consumer:a;c} as id
    from {c}_a a
    left join mbus4.consumer c on c.queue = pg_catalog.lower(a.qname) and c.name = pg_catalog.lower(a.cname)
),
{c}_t as materialized (
    select k.id, k.queue, pg_catalog.sum(k.amt) as amt, pg_catalog.clock_timestamp() as now, {hint:k.id} as low
    from {c}_k k
    group by k.id, k.queue
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
          and {deliverable:m;t.now}
          {also}
        order by m.available_at, m.id
        limit t.amt
        for update skip locked
    ) x
),
{c}_d as (
    delete from mbus4.message m
    where m.ctid = any(array(select s.tid from {c}_s s))
    returning m.id, m.consumer_id, m.available_at, m.added, m.delayed_until, m.expires, m.received, m.headers, m.properties, m.data,
              coalesce(m.iid, {iid:(select t.queue from {c}_t t where t.id = m.consumer_id);m.available_at;m.id}) as iid
),
{wake}
{c}_o as (
    select d.*, pg_catalog.row_number() over (partition by d.consumer_id order by d.available_at, d.id) as place from {c}_d d
),
{c} as (
    select r.n, {message:d;r.queue} as {result}, d.place as o
    from (select k.n, k.id, k.queue, k.amt, pg_catalog.sum(k.amt) over (partition by k.id order by k.n) as upto from {c}_k k) r
    join {c}_o d on d.consumer_id = r.id and d.place > r.upto - r.amt and d.place <= r.upto
    order by r.n, d.place
)
