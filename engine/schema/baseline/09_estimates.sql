-- Estimates and checks.

-- Both functions are volatile: such are called though nobody reads what they give, and so they check what they are given.

-- The messages that the consumer with the most of them is still to get: counted up to 1,000, beyond that
-- estimated from a sample of the table's pages. call is the number of the call in the client's text.
--
-- Counting goes along the primary key, in its order and from the consumer's hint on; the settings keep the planner from fetching the whole
-- range before it counts a thousand of it. Which consumers are looked for in the sample is one array, since a join may look each row's up.
-- The planner expects more of a sample than there is, and the more, the larger the table; without the last setting it would be compiled.
create function mbus4.estimated_messages_of(qname text, call int) returns bigint
language sql volatile
set enable_seqscan = off
set enable_bitmapscan = off
set jit = off
as $$
    select case
        when not exists (select from mbus4.queue q where q.qname = pg_catalog.lower($1 collate "C"))
            then pg_catalog.left(pg_catalog.format('mbus4-error %s 42704 queue %s does not exist', $2, coalesce('"' || $1 || '"', 'null')), 2000)::int::bigint
        when coalesce(pg_catalog.max(n.counted), 0) < 1000 then coalesce(pg_catalog.max(n.counted), 0)
        else greatest(1000, (
            select (pg_catalog.max(s.seen)::numeric / (least(100, 20000.0 / greatest(p.pages, 1)::numeric) / 100::numeric))::bigint
            from (select pg_catalog.pg_relation_size('mbus4.message'::pg_catalog.regclass) / pg_catalog.current_setting('block_size')::bigint as pages) p
            cross join lateral (
                select pg_catalog.count(*) as seen
                from mbus4.message m tablesample system (least(100, 20000.0 / greatest(p.pages, 1)::numeric)) repeatable (0)
                where m.consumer_id = any(array(select c.id from mbus4.consumer c where c.qname = pg_catalog.lower($1 collate "C")))
                group by m.consumer_id) s
            group by p.pages))
    end
    from (
        select (select pg_catalog.count(*)
                from (
                    select
                    from mbus4.message m
                    where m.consumer_id = c.id and m.available_at >= c.low
                    order by m.available_at, m.id
                    limit 1000
                ) x) as counted
        from (
            select c.id, pg_catalog.to_timestamp(coalesce(pg_catalog.pg_sequence_last_value(('mbus4.hint_' || coalesce(c.hint, c.id % 128::bigint)::pg_catalog.text)::pg_catalog.regclass), 0)::pg_catalog.float8 / 1000000.0::pg_catalog.float8) as low
            from mbus4.consumer c
            where c.qname = pg_catalog.lower($1 collate "C") and c.target is null
            offset 0
        ) c
        offset 0
    ) n
$$;

-- Fails unless the queue exists. call is the number of the call in the client's text.
create function mbus4.check_queue(qname text, call int) returns void
language sql volatile
as $$
    select case when not exists (select from mbus4.queue q where q.qname = pg_catalog.lower($1 collate "C"))
        then pg_catalog.left(pg_catalog.format('mbus4-error %s 42704 queue %s does not exist', $2, coalesce('"' || $1 || '"', 'null')), 2000)::int end
$$;
