-- Triggers, and who gets a message besides the consumers without a selector.

-- What selectors see of a copy of the message t that a trigger puts into a queue. headers: those of t as they are stored.
create function mbus4.copy_of(t mbus4.qt_model, queue text, id bigint, added timestamptz, headers {{.Hstore}}.hstore,
    delayed_until timestamptz, expires timestamptz, after text[])
returns mbus4.qt_model
language sql stable
as $$
    select mbus4.posted_row($3, $2, $4,
               $2 || '.' || pg_catalog.current_database() || '.' || case
                   when $2 = 'dmq' then (extract(epoch from $4) * 1000000)::bigint::text
                   when pg_catalog.cardinality($8) > 0 or $6 >= '2200-01-01Z' then ''
                   else (extract(epoch from greatest($6, $4)) * 1000000)::bigint::text end || $3,
               $6, $7, $5, ($1).properties, ($1).data)
$$;

-- Copies a message that was just posted to queue along the triggers, each copy a message of its own with what the poster gave
-- (headers as they are stored; and the time when the original was put), and gives their number. A queue that is reached in two ways gets two, one that the message has
-- passed none, one that does not exist none either. Selectors are asked once for each queue that the message comes to, and
-- of each copy for itself.
--
-- nextval comes before the clock: see post.sql.
create function mbus4.forward(queue text, t mbus4.qt_model, headers {{.Hstore}}.hstore, delayed_until timestamptz, expires timestamptz, after text[])
returns bigint
language sql volatile
as $$
    with recursive given as (
        select {{.Bound}}.hstore('enqueue_time'::text, ($2).headers operator({{.Bound}}.->) 'enqueue_time'::text)
                   operator({{.Bound}}.||) coalesce($3, '') as headers
    ), way (queue, path, id, added) as (
        select c.target, array[$1, c.target], pg_catalog.nextval('mbus4.message_id'), pg_catalog.clock_timestamp()
        from (
            select case when exists (select from mbus4.consumer c where c.qname = $1 and c.target is not null and c.selector_id is not null)
                        then mbus4.selecting_consumers($1, true, $2) end as selecting
            offset 0
        ) s
        join mbus4.consumer c on c.qname = $1 and c.target <> $1 and (c.selector_id is null or c.id = any(s.selecting))
        union all
        select c.target, w.path || c.target, pg_catalog.nextval('mbus4.message_id'), pg_catalog.clock_timestamp()
        from way w
        cross join lateral (
            select case when exists (select from mbus4.consumer c where c.qname = w.queue and c.target is not null and c.selector_id is not null)
                        then mbus4.selecting_consumers(w.queue, true, mbus4.copy_of($2, w.queue, w.id, w.added, (select g.headers from given g), $4, $5, $6)) end as selecting
            offset 0
        ) s
        join mbus4.consumer c on c.qname = w.queue and (c.selector_id is null or c.id = any(s.selecting))
        where c.target <> all (w.path)
    ), copy as materialized (
        select w.queue, w.id, w.added,
               case when w.queue = 'dmq' then w.added else greatest($4, w.added) end as at,
               case when w.queue <> 'dmq' and pg_catalog.cardinality($6) > 0 then $6 end as after,
               w.queue <> 'dmq' and mbus4.any_undelivered($6) as parked
        from way w
    ), stored as (
        insert into mbus4.message (id, consumer_id, available_at, added, iid, delayed_until, expires, headers, properties, data, after)
        select y.id, c.id, case when y.parked then 'infinity' else y.at end, y.added,
               case when y.after is not null or y.at >= '2200-01-01Z' then y.queue || '.' || pg_catalog.current_database() || '.' || y.id end,
               $4, $5, (select g.headers from given g), ($2).properties, ($2).data, y.after
        from copy y
        cross join lateral (
            select case when exists (select from mbus4.consumer c where c.qname = y.queue and c.target is null and c.selector_id is not null)
                        then mbus4.selecting_consumers(y.queue, false, mbus4.copy_of($2, y.queue, y.id, y.added, (select g.headers from given g), $4, $5, $6)) end as selecting
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
        select mbus4.posted_row($3, $2, $4, $5, $6, $7, null, $8, $9) as t
        offset 0
    ) m
    where case when exists (select from mbus4.consumer c where c.qname = $2 and c.target is not null)
               then mbus4.forward($2, m.t, null, $6, $7, null) end is distinct from -1
$$;
