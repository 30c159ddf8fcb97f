-- Removes what is stored for a queue's consumers, or for one of them, and gives the number of rows. call is the call's mark, for errors; cname null stands for
-- all consumers.
--
-- It goes along the primary key, a thousand rows at a time, from the consumer's hint on; so it holds a thousand addresses, however many rows there are. What
-- others have locked, because they have consumed it, is theirs. What is posted meanwhile stays. What waited for the
-- messages the releaser wakes (engine/housekeeping/releaser.go).
create or replace function {{.Signature}} returns bigint language plpgsql volatile
set plan_cache_mode = force_generic_plan set enable_seqscan = off set enable_bitmapscan = off set jit = off
as $mbus4$
#variable_conflict use_column
declare
    mbus4_began constant timestamptz := pg_catalog.clock_timestamp();
    mbus4_queue constant text := pg_catalog.lower($2 collate "C");
    mbus4_name constant text := pg_catalog.lower($3 collate "C");
    mbus4_consumers bigint[];
    mbus4_lows timestamptz[];
    mbus4_at timestamptz;
    mbus4_id bigint;
    mbus4_rows bigint;
    mbus4_removed bigint := 0;
begin
    select pg_catalog.array_agg(c.id), pg_catalog.array_agg({{template "hint" .With "Number" "coalesce(c.hint, c.id % 128)"}})
    into mbus4_consumers, mbus4_lows
    from mbus4.consumer c
    where c.qname = mbus4_queue and c.target is null and (mbus4_name is null or c.name = mbus4_name);
    if mbus4_consumers is null then
        perform case when (select 1 from mbus4.queue q where q.qname = mbus4_queue) is null then {{template "no_queue" .With "Args" "" "Queue" "$2"}}
                     when $3 is not null then pg_catalog.left(pg_catalog.format('mbus4-error {{.MarkOf ""}} 42704 queue "%s" has no consumer "%s"', $2, $3), 2000)::int end;
        return 0;
    end if;
    for mbus4_number in 1 .. pg_catalog.cardinality(mbus4_consumers) loop
        mbus4_at := mbus4_lows[mbus4_number];
        mbus4_id := -1;
        loop
            with due as materialized (
                select m.ctid as tid, m.available_at, m.id
                from mbus4.message m
                where m.consumer_id = mbus4_consumers[mbus4_number] and (m.available_at, m.id) > (mbus4_at, mbus4_id) and m.added <= mbus4_began
                order by m.available_at, m.id
                limit 1000
                for update skip locked
            ), gone as (
                delete from mbus4.message m where m.ctid = any(array(select d.tid from due d)) returning m.id
            )
            select (select pg_catalog.count(*) from gone), d.available_at, d.id
            into mbus4_rows, mbus4_at, mbus4_id
            from due d
            order by d.available_at desc, d.id desc
            limit 1;
            exit when not found;
            mbus4_removed := mbus4_removed + mbus4_rows;
        end loop;
    end loop;
    return mbus4_removed;
end
$mbus4$
