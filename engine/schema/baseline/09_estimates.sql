-- Estimates and checks.

-- Both functions are volatile: such are called though nobody reads what they give, and so they check what they are given.

-- The messages that the consumer with the most of them is still to get: counted up to 1,000, beyond that
-- estimated from a sample of the table's pages. call is the number of the call in the client's text.
create function mbus4.estimated_messages_of(qname text, call int) returns bigint
language sql volatile
as $$
    select case
        when not exists (select from mbus4.queue q where q.qname = pg_catalog.lower($1 collate "C"))
            then pg_catalog.left(pg_catalog.format('mbus4-error %s 42704 queue %s does not exist', $2, coalesce('"' || $1 || '"', 'null')), 2000)::int::bigint
        when coalesce(pg_catalog.max(n.counted), 0) < 1000 then coalesce(pg_catalog.max(n.counted), 0)
        else greatest(1000, (
            select (pg_catalog.max(s.seen) / (least(100, 20000.0 / greatest(p.pages, 1)) / 100))::bigint
            from (select pg_catalog.pg_relation_size('mbus4.message'::regclass) / pg_catalog.current_setting('block_size')::int as pages) p
            cross join lateral (
                select pg_catalog.count(*) as seen
                from mbus4.message m tablesample system (least(100, 20000.0 / greatest(p.pages, 1))) repeatable (0)
                join mbus4.consumer c on c.id = m.consumer_id
                where c.qname = pg_catalog.lower($1 collate "C")
                group by m.consumer_id) s
            group by p.pages))
    end
    from (
        select (select pg_catalog.count(*) from (select from mbus4.message m where m.consumer_id = c.id limit 1000) x) as counted
        from mbus4.consumer c
        where c.qname = pg_catalog.lower($1 collate "C") and c.target is null
    ) n
$$;

-- Fails unless the queue exists. call is the number of the call in the client's text.
create function mbus4.check_queue(qname text, call int) returns void
language sql volatile
as $$
    select case when not exists (select from mbus4.queue q where q.qname = pg_catalog.lower($1 collate "C"))
        then pg_catalog.left(pg_catalog.format('mbus4-error %s 42704 queue %s does not exist', $2, coalesce('"' || $1 || '"', 'null')), 2000)::int end
$$;
