-- As await.sql, for a call that waits for one message: '' where it can be delivered to each consumer that still has it, or to the one that is named, and
-- nobody holds it. Then all of its rows are locked, else none: who holds one is seen before; only where somebody comes in between may those behind the first
-- stay locked to the end of the transaction. A call itself asks again when it runs (part/free.sql), for it takes nothing that it would have to wait for.
create or replace function {{.Signature}} returns text language sql volatile
set enable_seqscan = off set enable_bitmapscan = off set jit = off
as $mbus4$
    with consumer as materialized (
        select {{template "consumer" .With "Args" "a" "ID" "c.id"}} as id
        from (select $2 as qname, $3 as cname offset 0) a
        left join mbus4.consumer c on c.qname = pg_catalog.lower(a.qname collate "C") and c.name = pg_catalog.lower(a.cname collate "C")
        where a.qname is not null
        offset 0
    ), there as materialized (
        select m.ctid as place, m.consumer_id, m.xmax as holder, {{template "takeable" .With "Row" "m"}} as ready
        from mbus4.message m
        where m.iid = $4 and ($2 is null or m.consumer_id = (select k.id from consumer k)) and {{template "unexpired" .With "Row" "m"}}
        union all
        select m.ctid, m.consumer_id, m.holder, {{template "takeable" .With "Row" "m"}}
        from mbus4.places_of_iid($4) p
        cross join lateral (
            select m.ctid, m.xmax as holder, m.*
            from mbus4.message m
            where m.consumer_id = any(array(select c.id from mbus4.consumer c where c.qname = p.queue)) and m.available_at = p.available_at and m.id = p.id
              and m.iid is null and ($2 is null or m.consumer_id = (select k.id from consumer k)) and {{template "unexpired" .With "Row" "m"}}
            offset 0
        ) m
    ), open as materialized (
        select pg_catalog.pg_snapshot_xmax(pg_catalog.pg_current_snapshot())::pg_catalog.text::bigint as base,
               array(select l.transactionid from pg_catalog.pg_locks l
                     where l.locktype = 'transactionid' and l.mode = 'ExclusiveLock' and l.granted and l.pid <> pg_catalog.pg_backend_pid()) as ids
        where (select pg_catalog.count(*) from there) > 1
    ), first as materialized (
        select m.consumer_id
        from mbus4.message m
        where m.ctid = (select t.place from there t order by t.consumer_id limit 1) and (select pg_catalog.bool_and(t.ready) from there t)
          and not exists (select from there t cross join open o where mbus4.is_open(t.holder, o.base, o.ids))
        for update skip locked
    ), locked as materialized (
        select {{template "takeable" .With "Row" "m"}} as ready
        from mbus4.message m
        where m.ctid = any(array(select t.place from there t where exists (select from first)))
        for update skip locked
    )
    select case when (select pg_catalog.count(*) filter (where l.ready) from locked l) = (select nullif(pg_catalog.count(*), 0) from there) then ''
                else {{template "wait_bounds" .}} end
    from (select pg_catalog.count(*) from consumer) c
$mbus4$
