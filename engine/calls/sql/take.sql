-- Removes the message for all its consumers and gives one of the copies. Waits for rows that another
-- transaction holds.
{c}_s as (
    delete from mbus4.message m
    using {c}_a a, mbus4.consumer c
    where m.iid = a.msgid and c.id = m.consumer_id and {unexpired:m}
    returning a.n, c.queue, m.*
),
{c}_p as (
    delete from mbus4.message m
    using {c}_a a
    cross join lateral mbus4.place_of_iid(a.msgid) p
    join mbus4.consumer c on c.queue = p.queue
    where m.consumer_id = c.id and m.available_at = p.available_at and m.id = p.id and m.iid is null and {unexpired:m}
    returning a.n, c.queue, m.id, m.consumer_id, m.available_at, m.added, a.msgid as iid,
              m.delayed_until, m.expires, m.received, m.headers, m.properties, m.data, m.after
),
{c}_d as (
    select * from {c}_s
    union all
    select * from {c}_p
),
{wake}
{c} as (
    select a.n, d.r as take
    from {c}_a a
    left join (
        select distinct on (d.n) d.n, {message:d;d.queue} as r
        from {c}_d d
        order by d.n, d.id, d.consumer_id
    ) d on d.n = a.n
)
