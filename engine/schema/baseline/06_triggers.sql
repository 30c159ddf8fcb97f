-- Triggers, and who gets a message besides the consumers without a selector.

-- Copies a message that was just posted to queue along the triggers, each copy a message of its own,
-- and gives their number. A queue that is reached in two ways gets two, one that the message has
-- passed none. Selectors are
-- asked once for each queue that the message comes to.
create function mbus4.forward(queue text, t mbus4.qt_model, delayed_until timestamptz, expires timestamptz, after text[])
returns bigint
language sql volatile
as $$
    with recursive way (queue, path) as (
        select c.target, array[$1, c.target]
        from (
            select case when exists (select from mbus4.consumer c where c.qname = $1 and c.target is not null and c.selector_id is not null)
                        then mbus4.selecting_consumers($1, true, $2) end as selecting
            offset 0
        ) s
        join mbus4.consumer c on c.qname = $1 and c.target <> $1 and (c.selector_id is null or c.id = any(s.selecting))
        union all
        select c.target, w.path || c.target
        from way w
        cross join lateral (
            select case when exists (select from mbus4.consumer c where c.qname = w.queue and c.target is not null and c.selector_id is not null)
                        then mbus4.selecting_consumers(w.queue, true, $2) end as selecting
            offset 0
        ) s
        join mbus4.consumer c on c.qname = w.queue and (c.selector_id is null or c.id = any(s.selecting))
        where c.target <> all (w.path)
    ), copy as materialized (
        select x.queue, x.id, pg_catalog.clock_timestamp() as added,
               case when x.queue <> 'dmq' and pg_catalog.cardinality($5) > 0 then $5 end as after,
               x.queue <> 'dmq' and mbus4.any_undelivered($5) as parked
        from (select w.queue, pg_catalog.nextval('mbus4.message_id') as id from way w offset 0) x
    ), stored as (
        insert into mbus4.message (id, consumer_id, available_at, added, iid, delayed_until, expires, headers, properties, data, after)
        select y.id, c.id, case when y.parked then 'infinity' else greatest($3, y.added) end, y.added,
               case when y.after is not null or $3 >= '2200-01-01Z' then y.queue || '.' || pg_catalog.current_database() || '.' || y.id end,
               $3, $4, ($2).headers, ($2).properties, ($2).data, y.after
        from copy y
        cross join lateral (
            select case when exists (select from mbus4.consumer c where c.qname = y.queue and c.target is null and c.selector_id is not null)
                        then mbus4.selecting_consumers(y.queue, false, row(y.id, y.added,
                            case when y.after is not null or $3 >= '2200-01-01Z' then y.queue || '.' || pg_catalog.current_database() || '.' || y.id
                                 else y.queue || '.' || pg_catalog.current_database() || '.'
                                     || (extract(epoch from greatest($3, y.added)) * 1000000)::bigint || y.id end,
                            ($2).delayed_until, ($2).expires, null, ($2).headers, ($2).properties, ($2).data)::mbus4.qt_model) end as selecting
            offset 0
        ) s
        join mbus4.consumer c on c.qname = y.queue and c.target is null and (c.selector_id is null or c.id = any(s.selecting))
        returning id, consumer_id
    ), waits as (
        insert into mbus4.waiting (dep, consumer_id, id)
        select distinct dep, s.consumer_id, s.id
        from stored s
        join copy y on y.id = s.id and y.parked
        cross join pg_catalog.unnest(y.after) dep
        where dep is not null
    )
    select pg_catalog.count(*) from stored
$$;

-- The consumers given and those whose selectors the message meets; it also copies the message along the
-- triggers. For statements that were made while the database had no selectors: they call it only where
-- a queue has some now or has triggers, and cost no more than if there were neither.
create function mbus4.subscribers_late(consumers bigint[], queue text, id bigint, added timestamptz, iid text, delayed_until timestamptz,
    expires timestamptz, properties {{.Hstore}}.hstore, data {{.Hstore}}.hstore)
returns bigint[]
language sql volatile
as $$
    select pg_catalog.array_cat($1, mbus4.selecting_consumers($2, false, m.t))
    from (
        select row($3, $4, $5, $6, $7, null,
                   {{.Hstore}}.hstore(array['source_db', pg_catalog.current_database()::text, 'destination_queue', $2,
                       'seenby', array[pg_catalog.current_database()::text]::text, 'enqueue_time', $4::text]),
                   $8, $9)::mbus4.qt_model as t
        offset 0
    ) m
    where case when exists (select from mbus4.consumer c where c.qname = $2 and c.target is not null)
               then mbus4.forward($2, m.t, $6, $7, null) end is distinct from -1
$$;
