-- Removes what is stored for a queue's consumers, or for one of them, and gives the number of rows. call is the call's mark, for errors; cname null stands for
-- all consumers.
--
-- It goes along the primary key, from the consumer's hint on, and fetches each row by its address: it holds none of them, however many there are. What
-- others have locked, because they have consumed it, is theirs. What is posted meanwhile stays. What waited for the
-- messages the releaser wakes (engine/housekeeping/releaser.go).
create or replace function {{.Signature}} returns bigint language sql volatile
set enable_seqscan = off set enable_bitmapscan = off set enable_hashjoin = off set enable_mergejoin = off set enable_sort = off set jit = off
as $mbus4$
    with consumers as materialized (
        select c.id, {{template "hint" .With "Number" "coalesce(c.hint, c.id % 128::bigint)"}} as low
        from mbus4.consumer c
        where c.qname = pg_catalog.lower($2 collate "C") and c.target is null and ($3 is null or c.name = pg_catalog.lower($3 collate "C"))
    ), known as materialized (
        select case when exists (select from consumers) then 1
                    when not exists (select from mbus4.queue q where q.qname = pg_catalog.lower($2 collate "C")) then {{template "no_queue" .With "Args" "" "Queue" "$2"}}
                    when $3 is not null then pg_catalog.left(pg_catalog.format('mbus4-error {{.MarkOf ""}} 42704 queue "%s" has no consumer "%s"', $2, $3), 2000)::int end as one
    ), gone as (
        delete from mbus4.message m
        using (
            select x.ctid as place
            from known k
            cross join consumers c
            cross join lateral (
                select x.ctid
                from mbus4.message x
                where x.consumer_id = c.id and (x.available_at, x.id) >= (c.low, 0)
                order by x.available_at, x.id
                for update skip locked
            ) x
            where k.one = 1
            offset 0
        ) x
        where m.ctid = x.place
        returning 1
    )
    select pg_catalog.count(*) from gone
$mbus4$
