-- Receives the message for one consumer. Waits for a row that another transaction holds. {c}_e inserts nothing,
-- it only makes sure that the arguments are checked: see macro/done.sql.
{c}_k as materialized (
    select a.n, a.msgid, c.queue, {consumer:a;c} as id
    from {c}_a a
    left join mbus4.consumer c on c.queue = pg_catalog.lower(a.qname) and c.name = pg_catalog.lower(a.cname)
),
{c}_s as (
    delete from mbus4.message m
    using {c}_k k
    where m.iid = k.msgid and m.consumer_id = k.id and {unexpired:m}
    returning k.n, m.*
),
{c}_p as (
    delete from mbus4.message m
    using {c}_k k
    cross join lateral mbus4.place_of_iid(k.msgid) p
    where k.queue = p.queue
      and m.consumer_id = k.id and m.available_at = p.available_at and m.id = p.id and m.iid is null and {unexpired:m}
    returning k.n, m.id, m.consumer_id, m.available_at, m.added, k.msgid as iid,
              m.delayed_until, m.expires, m.received, m.headers, m.properties, m.data, m.after
),
{c}_d as (
    select * from {c}_s
    union all
    select * from {c}_p
),
{wake}
{c}_e as (
    insert into mbus4.waiting (dep, consumer_id, id) select null, k.id, null from {c}_k k where pg_catalog.num_nulls(k.n) > 0
),
{c} as (
    select k.n, case when d.id is not null then {message:d;k.queue} end as take_from
    from {c}_k k
    left join {c}_d d on d.n = k.n
)
