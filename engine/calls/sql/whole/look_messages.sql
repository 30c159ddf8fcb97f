-- As look.sql, for those who wait for one message each: of each place in the arrays $1, $2 and $3 (a queue and a consumer, or '' twice for all who have it,
-- an iid) whether there is no such consumer, how many could be delivered, 1 or none, and in how many seconds the last of its delays is over.
select k.i, k.queue <> '' and c.id is null, case when r.ready then 1 else 0 end,
       case when r.due > pg_catalog.clock_timestamp() and r.due < 'infinity' then pg_catalog.date_part('epoch', r.due - pg_catalog.clock_timestamp()) end
from rows from (pg_catalog.unnest($1::pg_catalog.text[]), pg_catalog.unnest($2::pg_catalog.text[]), pg_catalog.unnest($3::pg_catalog.text[])) with ordinality k (queue, consumer, iid, i)
left join lateral (
    select c.id from mbus4.consumer c where c.qname = k.queue and c.name = k.consumer offset 0
) c on true
cross join lateral (
    select pg_catalog.bool_and(x.ready) as ready, pg_catalog.max(x.due) as due
    from (
        select {{template "takeable" .With "Row" "m"}} and {{template "unheld" .With "Row" "m" "Snapshot" "s"}} as ready, m.available_at as due
        from (select pg_catalog.pg_current_snapshot() as snapshot, pg_catalog.pg_snapshot_xmax(pg_catalog.pg_current_snapshot())::pg_catalog.text::bigint as next offset 0) s
        cross join lateral (
            select m.xmax, m.available_at, m.after, m.consumer_id
            from mbus4.message m
            where m.iid = k.iid and (k.queue = '' or m.consumer_id = c.id) and {{template "unexpired" .With "Row" "m"}}
            union all
            select m.xmax, m.available_at, m.after, m.consumer_id
            from mbus4.places_of_iid(k.iid) p
            cross join lateral (
                select m.xmax, m.*
                from mbus4.message m
                where m.consumer_id = any(array(select o.id from mbus4.consumer o where o.qname = p.queue)) and m.available_at = p.available_at and m.id = p.id
                  and m.iid is null and (k.queue = '' or m.consumer_id = c.id) and {{template "unexpired" .With "Row" "m"}}
                offset 0
            ) m
        ) m
    ) x
) r
