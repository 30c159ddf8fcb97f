-- Who gets a message besides the consumers without a selector. A text/template as the others.

-- The consumers given and those whose selectors the message meets; it also copies the message along the
-- triggers. For statements that were made while the database had no selectors: they call it only where
-- a queue has some now or has triggers, and cost no more than if there were neither.
create function mbus4.subscribers_late(consumers int[], queue text, id bigint, added timestamptz, iid text, delayed_until timestamptz,
    expires timestamptz, properties {{.Hstore}}.hstore, data {{.Hstore}}.hstore)
returns int[]
language sql volatile
as $$
    select pg_catalog.array_cat($1, (
               select pg_catalog.array_agg(c.id)
               from mbus4.consumer c
               where c.queue = $2 and c.target is null and c.selector_id is not null and mbus4.selects(c.selector_id, m.t)))
    from (
        select row($3, $4, $5, $6, $7, null,
                   {{.Hstore}}.hstore(array['source_db', pg_catalog.current_database()::text, 'destination_queue', $2,
                       'seenby', array[pg_catalog.current_database()::text]::text, 'enqueue_time', $4::text]),
                   $8, $9)::mbus4.qt_model as t
        offset 0
    ) m
    where case when exists (select from mbus4.consumer c where c.queue = $2 and c.target is not null)
               then mbus4.forward($2, m.t, $6, $7, null) end is distinct from -1
$$;
