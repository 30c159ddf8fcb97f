-- As dyn_consume.sql, for a call that is evaluated for each row of a set. Rows that ask the same of the same
-- consumer are served together.
{c}_k as materialized (
    select a.n, c.queue, {consumer:a;c} as id,
           coalesce(a.selector, '') as selector
    from {c}_a a
    left join mbus4.consumer c on c.queue = pg_catalog.lower(a.qname) and c.name = pg_catalog.lower(a.cname)
),
{c}_t as materialized (
    select k.id, k.queue, k.selector, pg_catalog.count(*) as amt, pg_catalog.clock_timestamp() as now, {hint:k.id} as low
    from {c}_k k
    group by k.id, k.queue, k.selector
),
{c}_e as materialized (select t.*, mbus4.candidates(t.queue, t.id, t.low, t.now, t.selector, t.amt + 16) as tids from {c}_t t),
{c}_s as materialized (
    select e.id, e.selector, x.tid
    from {c}_e e
    cross join lateral (
        select m.ctid as tid
        from mbus4.message m
        where m.ctid = any(e.tids) and m.consumer_id is not distinct from e.id and {deliverable:m;e.now}
        order by m.available_at, m.id
        limit e.amt
        for update skip locked
    ) x
),
{c}_f as materialized (
    select e.id, e.selector, x.tid
    from (select e.*, e.amt - (select pg_catalog.count(*) from {c}_s s where s.id = e.id and s.selector = e.selector) as lacking from {c}_e e) e
    cross join lateral (select mbus4.candidates(e.queue, e.id, e.low, e.now, e.selector, 1000000000) as tids offset 0) c
    cross join lateral (
        select m.ctid as tid
        from mbus4.message m
        where m.ctid = any(c.tids) and m.consumer_id is not distinct from e.id and {deliverable:m;e.now} and m.ctid <> all(array(select s.tid from {c}_s s))
        order by m.available_at, m.id
        limit e.lacking
        for update skip locked
    ) x
    where e.lacking > 0 and pg_catalog.cardinality(e.tids) = e.amt + 16
),
{c}_p as materialized (
    select distinct on (p.tid) p.tid, p.selector
    from (select * from {c}_s union all select * from {c}_f) p
),
{c}_d as (
    delete from mbus4.message m
    where m.ctid = any(array(select p.tid from {c}_p p))
    returning m.ctid as tid, m.id, m.consumer_id, m.available_at, m.added, m.delayed_until, m.expires, m.received, m.headers, m.properties, m.data,
              coalesce(m.iid, {iid:(select t.queue from {c}_t t where t.id = m.consumer_id limit 1);m.available_at;m.id}) as iid
),
{wake}
{c}_o as (
    select d.*, p.selector, pg_catalog.row_number() over (partition by d.consumer_id, p.selector order by d.available_at, d.id) as place
    from {c}_d d
    join {c}_p p on p.tid = d.tid
),
{c} as (
    select r.n, {message:d;r.queue} as {result}, d.place as o
    from (select k.n, k.id, k.queue, k.selector, pg_catalog.row_number() over (partition by k.id, k.selector order by k.n) as place from {c}_k k) r
    join {c}_o d on d.consumer_id = r.id and d.selector = r.selector and d.place = r.place
    order by r.n
)
