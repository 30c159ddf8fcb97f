-- What there is for those who wait, for all at once: of each place in the arrays $1, $2 and $3 (a queue, a consumer, how many wait) whether there is no
-- such consumer, how many messages could be delivered, up to so many, and in how many seconds the next delayed one is due.
-- It locks nothing. What a transaction holds that was under way is not counted, for who waits could not take it; but for those that have begun since, and
-- subtransactions and groups of them, which have numbers of their own: to count too many wakes in vain. A row keeps the number after the transaction's end.
-- A snapshot ends behind the last number that has ended: who has a later one is under way if the number was given out, which age says.
select k.i, c.id is null, r.n,
       (
           select pg_catalog.date_part('epoch', m.available_at - c.now)
           from mbus4.message m
           where m.consumer_id = c.id and m.available_at > c.now and m.available_at < 'infinity'
           order by m.available_at, m.id
           limit 1
       )
from rows from (pg_catalog.unnest($1::pg_catalog.text[]), pg_catalog.unnest($2::pg_catalog.text[]), pg_catalog.unnest($3::int[])) with ordinality k (queue, consumer, n, i)
left join lateral (
    select {{.Receiver}} as id, {{template "hint" .With "Number" "coalesce(c.hint, c.id % 128::bigint)"}} as low, pg_catalog.clock_timestamp() as now,
           pg_catalog.pg_current_snapshot() as snapshot, pg_catalog.pg_snapshot_xmax(pg_catalog.pg_current_snapshot())::pg_catalog.text::bigint as next
    from mbus4.consumer c
    where c.qname = k.queue and c.name = k.consumer
    offset 0
) c on true
cross join lateral (
    select pg_catalog.count(*)::int as n
    from (
        select 1
        from mbus4.message x
        where x.consumer_id = c.id
          and (x.available_at, x.id) >= (c.low, 0)
          and x.available_at <= c.now
          and {{template "deliverable" .With "Row" "x" "Now" "c.now"}}
          and {{template "unheld" .With "Row" "x" "Snapshot" "c"}}
        order by x.available_at, x.id
        limit k.n
    ) y
) r
