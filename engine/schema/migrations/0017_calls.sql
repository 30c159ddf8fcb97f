-- Waking what waits, and checks that are made. A text/template as the others.

-- The addresses of messages that wait for one of these iids and for nothing else that is still there: a hundred
-- at most, locked, those aside that others hold. The iids are of messages that the transaction has removed, and a
-- volatile function sees that they are gone.
--
-- Which way the planner goes here must not depend on statistics, whatever they say (see mbus4.message): each step
-- is ordered as an index of its own is, and limited, so that to read and sort a table for it never looks
-- cheaper, and nothing looks so dear that the server compiles it.
create function mbus4.wakeable(iids text[]) returns tid[]
language sql volatile
as $$
    select array(
        select m.ctid
        from mbus4.message m
        where m.ctid = any(array(
                select w.tid
                from pg_catalog.unnest($1) d (iid)
                cross join lateral (
                    select g.consumer_id, g.id
                    from mbus4.waiting g
                    where g.dep = d.iid
                    order by g.consumer_id, g.id
                    limit 100
                ) g
                cross join lateral (
                    select m.ctid as tid, m.after
                    from mbus4.message m
                    where m.consumer_id = g.consumer_id and m.available_at = 'infinity' and m.id = g.id
                    order by m.consumer_id, m.available_at, m.id
                    limit 1
                ) w
                where w.after is not null and not mbus4.any_undelivered(w.after)
                limit 100
            ))
          and m.available_at = 'infinity' and m.after is not null
        for update skip locked)
$$;

-- Some more pages that stay: to fetch ten rows by their addresses must look cheaper than to read an empty table.
insert into mbus4.waiting (dep, consumer_id, id) select repeat(md5(n::text), 20), 0, -n from generate_series(1, 1000) n;
delete from mbus4.waiting where consumer_id = 0 and id < 0;

-- Volatile functions are called though nobody reads what they give, and so they check what they are given.
alter function mbus4.check_queue(text, int) volatile;
alter function mbus4.estimated_messages_of(text, int) volatile;
