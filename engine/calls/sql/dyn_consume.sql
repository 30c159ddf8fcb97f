-- As consume.sql, with a selector that is known only now. mbus4.candidates only reads, so it gives the
-- addresses of a few messages to choose from; where others hold all of those, it is asked for more, and then for
-- all. The first time it is spelled out, which saves planning its body.
{c}_k as materialized (
    select k.*, array(select w.word::text::tid from pg_catalog.ts_stat(mbus4.candidates_sql(k.queue, k.id, k.low, k.now, k.selector, 16)) w) as tids
    from (
        select {consumer:a;c} as id, pg_catalog.clock_timestamp() as now, {hint:c.id} as low, c.queue, a.selector
        from {c}_a a
        left join mbus4.consumer c on c.queue = pg_catalog.lower(a.qname) and c.name = pg_catalog.lower(a.cname)
        offset 0
    ) k
),
{c}_w as materialized (
    select mbus4.candidates(k.queue, k.id, k.low, k.now, k.selector, 128) as tids from {c}_k k where pg_catalog.cardinality(k.tids) = 16
),
{c}_d as (
    delete from mbus4.message m
    where m.ctid = any(coalesce(
        nullif({first_free:select k.tids from {c}_k k}, '{}'),
        nullif({first_free:select w.tids from {c}_w w}, '{}'),
        {first_free:select mbus4.candidates(k.queue, k.id, k.low, k.now, k.selector, 1000000000) from {c}_k k, {c}_w w where pg_catalog.cardinality(w.tids) = 128}
    ))
    returning m.id, m.consumer_id, m.available_at, m.added, m.delayed_until, m.expires, m.received, m.headers, m.properties, m.data,
              coalesce(m.iid, {iid:(select k.queue from {c}_k k);m.available_at;m.id}) as iid
),
{wake}
{c} as (
    select 1::bigint as n, {message:d;k.queue} as {result} from {c}_d d, {c}_k k
)
