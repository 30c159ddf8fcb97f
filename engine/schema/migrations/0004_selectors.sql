-- Selectors and triggers. A text/template as the others.

-- selector_id names the function that holds the selector, mbus4.selector_<selector_id in hex>: the
-- first 8 bytes of the md5 of the selector's text. See Selectors.
alter table mbus4.consumer add column selector_id bigint;

-- A row with a target is no consumer but a trigger: what is posted to queue is copied to target. Its
-- name has capital letters, so no call finds it. queue may not exist, and then queue_id is null; nor
-- need the target.
alter table mbus4.consumer add column target text collate "C";
alter table mbus4.consumer alter column queue_id drop not null;
alter table mbus4.consumer add check (case when target is null then queue_id is not null else name = 'TRIGGER ' || target end);

-- Whether a message meets a selector, by asking for the selector's function by name: right whatever
-- happened since the statement around it was planned. pg_catalog.ts_stat is how an expression runs a
-- text of SQL. Strict, so that it is not inlined and costs nothing where it is not called.
create function mbus4.selects_late(selector_id bigint, t mbus4.qt_model) returns boolean
language sql immutable strict
as $$
    select exists (select from pg_catalog.ts_stat(pg_catalog.format(
        'select ''1''::pg_catalog.tsvector where mbus4.selector_%s(%L::mbus4.qt_model)', pg_catalog.to_hex($1), $2)))
$$;

-- The same, fast: Selectors replaces it with one that knows the selectors' functions, and the planner
-- inlines both.
create function mbus4.selects(selector_id bigint, t mbus4.qt_model) returns boolean
language sql immutable
return mbus4.selects_late(selector_id, t);

-- Copies a message that was just posted to queue along the triggers, each copy a message of its own,
-- and gives their number. A queue that is reached in two ways gets two, one that the message has
-- passed none.
create function mbus4.forward(queue text, t mbus4.qt_model, delayed_until timestamptz, expires timestamptz, after text[])
returns bigint
language sql volatile
as $$
    with recursive way (queue, path) as (
        select c.target, array[$1, c.target]
        from mbus4.consumer c
        where c.queue = $1 and c.target <> $1 and (c.selector_id is null or mbus4.selects(c.selector_id, $2))
        union all
        select c.target, w.path || c.target
        from way w
        join mbus4.consumer c on c.queue = w.queue
        where c.target <> all (w.path) and (c.selector_id is null or mbus4.selects(c.selector_id, $2))
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
            select row(y.id, y.added, case when y.after is not null or $3 >= '2200-01-01Z' then y.queue || '.' || pg_catalog.current_database() || '.' || y.id
                                           else y.queue || '.' || pg_catalog.current_database() || '.'
                                               || (extract(epoch from greatest($3, y.added)) * 1000000)::bigint || y.id end,
                       ($2).delayed_until, ($2).expires, null, ($2).headers, ($2).properties, ($2).data)::mbus4.qt_model as t
            offset 0
        ) own
        join mbus4.consumer c on c.queue = y.queue
        where c.target is null and (c.selector_id is null or mbus4.selects(c.selector_id, own.t))
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

-- The text of a query for the addresses of the first messages of a consumer that meet a selector known only
-- now. The selector is read as the session reads it. It stands outside of what puts the messages in order:
-- the planner would guess that it meets few and read a whole backlog to sort them; the limit that it cannot
-- see says that not all will be wanted.
create function mbus4.candidates_sql(queue text, consumer_id int, low timestamptz, now timestamptz, selector text, most bigint)
returns text
language sql stable
as $$
    select pg_catalog.format($mbus4$
        select ('''' || t.mbus4_at::pg_catalog.text || '''')::pg_catalog.tsvector
        from (
            select m.ctid as mbus4_at, m.id, m.added::timestamp as added,
                   coalesce(m.iid, %1$L || '.' || pg_catalog.current_database() || '.' || (extract(epoch from m.available_at) * 1000000)::bigint || m.id) as iid,
                   m.delayed_until::timestamp as delayed_until, m.expires::timestamp as expires, m.received,
                   {{.Hstore}}.hstore(array['source_db', pg_catalog.current_database()::text, 'destination_queue', %1$L,
                           'seenby', array[pg_catalog.current_database()::text]::text, 'enqueue_time', m.added::text])
                       operator({{.Hstore}}.||) coalesce(m.headers, '')
                       operator({{.Hstore}}.||) {{.Hstore}}.hstore('destination', %1$L) as headers,
                   m.properties, m.data
            from mbus4.message m
            where m.consumer_id = %2$s
              and (m.available_at, m.id) >= (%3$L::timestamptz, 0)
              and m.available_at <= %4$L::timestamptz
              and (case when m.expires <= %4$L::timestamptz then null
                        when m.after is not null and mbus4.any_undelivered(m.after) then null
                        else 0 end) is not null
            order by m.available_at, m.id
            limit (select 1000000000)
        ) t
        where (%7$s%5$s%7$s)
        limit %6$s
    $mbus4$, $1, $2, $3, $4, coalesce(nullif(pg_catalog.btrim($5, E' \t\r\n'), ''), 'true'), $6, E'\n')
$$;

-- What that query gives: pg_catalog.ts_stat is how an expression runs a text of SQL, and only reads.
create function mbus4.candidates(queue text, consumer_id int, low timestamptz, now timestamptz, selector text, most bigint)
returns tid[]
language sql volatile
as $$
    select array(select w.word::text::tid from pg_catalog.ts_stat(mbus4.candidates_sql($1, $2, $3, $4, $5, $6)) w)
$$;
