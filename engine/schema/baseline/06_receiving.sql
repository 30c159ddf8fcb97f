-- Who gets a message. The calls ask for consumers with selectors and for triggers.

-- The headers of a message that is being posted, as selectors see them. The LIMIT as in posted_row.
create function mbus4.headers_posted(queue text, added timestamptz, headers {{.Hstore}}.hstore) returns {{.Hstore}}.hstore
language sql stable cost 1
set jit = off
as $$ select mbus4.base_headers($1, $2) operator({{.Bound}}.||) coalesce($3, '') limit 1 $$;

-- That a message which is being posted has what a consumer's selector asks for, where that is a comparison. The planner puts the body in the place of a call.
create function mbus4.has_asked(consumer mbus4.consumer, queue text, added timestamptz, headers {{.Hstore}}.hstore, properties {{.Hstore}}.hstore,
    data {{.Hstore}}.hstore) returns boolean
language sql volatile cost 1
as $$
    select (($1).asks_properties is null or $5 operator({{.Bound}}.@>) ($1).asks_properties)
       and (($1).asks_data is null or $6 operator({{.Bound}}.@>) ($1).asks_data)
       and (($1).asks_headers is null or mbus4.headers_posted($2, $3, $4) operator({{.Bound}}.@>) ($1).asks_headers)
$$;

-- The same where it takes the selector's condition to decide. pg_catalog.ts_rewrite is how an expression runs a text of SQL: it gives what the second column has for
-- the first. OFFSET 0: the message is no constant to the planner, which would evaluate what the condition keeps from being evaluated. A condition cannot fail: -1
-- stands for an error, which is counted. iid: null for one that nobody chose.
create function mbus4.meets(consumer mbus4.consumer, queue text, id bigint, added timestamptz, iid text, delayed_until timestamptz, expires timestamptz,
    headers {{.Hstore}}.hstore, properties {{.Hstore}}.hstore, data {{.Hstore}}.hstore) returns boolean
language sql volatile cost 1
set jit = off
as $$
    select case pg_catalog.ts_rewrite('asked', pg_catalog.format(
                   'select pg_catalog.tsquery ''asked'', case (%1$s) when 1 then pg_catalog.tsquery ''met'' when -1 then pg_catalog.tsquery ''failed'' else pg_catalog.tsquery ''unmet'' end from '
                       || case when s.body_only then '(select %2$L::{{.Bound}}.hstore as headers, %3$L::{{.Bound}}.hstore as properties, %4$L::{{.Bound}}.hstore as data offset 0) t'
                               else 'pg_catalog.unnest(array[%5$L::mbus4.qt_model]) t' end,
                   s.condition, $8, $9, $10,
                   case when not s.body_only then mbus4.posted_row($3, $2, $4, $5, $6, $7, $8, $9, $10) end))::pg_catalog.text
           when '''met''' then true
           when '''failed''' then mbus4.count_selector_error(($1).id, $3) < 0
           else false end
    from mbus4.selector s
    where s.id = ($1).selector_id
$$;

-- Whether there is a queue, for a trigger that was made before it.
create function mbus4.has_queue(queue text) returns boolean
language sql stable cost 1
set jit = off
as $$ select exists (select from mbus4.queue q where q.qname = $1) $$;

-- That a message has what a consumer's or a trigger's selector asks for, whichever way it takes to decide.
create function mbus4.selects(consumer mbus4.consumer, queue text, id bigint, added timestamptz, iid text, delayed_until timestamptz, expires timestamptz,
    headers {{.Hstore}}.hstore, properties {{.Hstore}}.hstore, data {{.Hstore}}.hstore) returns boolean
language sql volatile cost 1
set jit = off
as $$ select case when ($1).general then mbus4.meets($1, $2, $3, $4, $5, $6, $7, $8, $9, $10) else mbus4.has_asked($1, $2, $4, $8, $9, $10) end is true $$;

-- Each of the next two calls the other.
set local check_function_bodies = off;

-- That a consumer gets a message that is being posted to its queue, as part/receives.sql of package calls says it. call: the call's mark, for errors; iid: null for one that
-- nobody chose; after: what the message waits for, waits: that it has to; passed: the queues where it was, null for its own alone.
create function mbus4.receives(call text, consumer mbus4.consumer, queue text, id bigint, added timestamptz, iid text, delayed_until timestamptz,
    expires timestamptz, headers {{.Hstore}}.hstore, properties {{.Hstore}}.hstore, data {{.Hstore}}.hstore, after text[], waits boolean, passed text[])
returns boolean
language sql volatile cost 1
set jit = off
as $$
    select case when ($2).target is null then mbus4.selects($2, $3, $4, $5, $6, $7, $8, $9, $10, $11)
                else mbus4.copied($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14) is true end
$$;

-- Puts a copy of a message into the queue of a trigger, for those there who get it, a message of its own with what the poster gave, if the trigger's selector
-- says so and it has not been there. A queue that does not exist gets none. See receives.
--
-- nextval comes before the clock: see post.sql.
create function mbus4.copied(call text, trigger mbus4.consumer, queue text, id bigint, added timestamptz, iid text, delayed_until timestamptz,
    expires timestamptz, headers {{.Hstore}}.hstore, properties {{.Hstore}}.hstore, data {{.Hstore}}.hstore, after text[], waits boolean, passed text[])
returns boolean
language sql volatile cost 1
set jit = off
as $$
    insert into mbus4.message (id, consumer_id, available_at, added, iid, delayed_until, expires, headers, properties, data, after)
    select m.id, c.id, case when m.queue = 'dmq' then m.added when $13 then mbus4.parked($12, c.id, m.id) else greatest($7, m.added) end, m.added,
           case when m.queue <> 'dmq' and ($12 is not null or $7 >= '2200-01-01Z') then m.queue || '.' || pg_catalog.current_database()::pg_catalog.text || '.' || m.id::pg_catalog.text end,
           $7, $8, m.headers, $10, $11, case when m.queue <> 'dmq' then $12 end
    from (
        select ($2).target as queue,
               case when pg_catalog.pg_try_advisory_xact_lock_shared(1835169140, pg_catalog.hashtext(($2).target) & 63) then pg_catalog.nextval('mbus4.post_id')
                    when pg_catalog.nextval('mbus4.message_id') > 0 then pg_catalog.nextval('mbus4.post_id') end as id,
               pg_catalog.clock_timestamp() as added,
               {{.Bound}}.hstore('enqueue_time'::pg_catalog.text,
                   case when pg_catalog.starts_with(pg_catalog.current_setting('datestyle'), 'ISO') then $5::timestamp::pg_catalog.text else mbus4.time_text($5::timestamp) end)
                   operator({{.Bound}}.||) coalesce($9, '') as headers
        where (($2).selector_id is null or mbus4.selects($2, $3, $4, $5, $6, $7, $8, $9, $10, $11))
          and ($2).target <> all (coalesce($14, array[$3]))
          and case when pg_catalog.cardinality($14) > 100
                   then pg_catalog.left(pg_catalog.format('mbus4-error %s 54001 the message would go from queue "%s" along more than 100 triggers, one behind another', $1, ($14)[1]), 2000)::int is null
                   else true end
        offset 0
    ) m
    join mbus4.consumer c on c.qname = m.queue
    where case when c.selector_id is null and c.target is null then true
               else mbus4.receives($1, c, m.queue, m.id, m.added, null, $7, $8, m.headers, $10, $11, case when m.queue <> 'dmq' then $12 end, $13 and m.queue <> 'dmq',
                                   pg_catalog.array_append(coalesce($14, array[$3]), m.queue)) end
    returning false
$$;

set local check_function_bodies = on;

-- The headers of a message that was elsewhere, as they are stored: seenby lists databases, and this is one. call: the call's mark, for errors. The LIMIT as in posted_row.
create function mbus4.seen_here(call text, queue text, headers {{.Hstore}}.hstore) returns {{.Hstore}}.hstore
language sql stable cost 1
set jit = off
as $$
    select case when $3 operator({{.Bound}}.->) 'seenby'::pg_catalog.text is null then $3 operator({{.Bound}}.-) 'seenby'::pg_catalog.text
                when $2 = 'dmq' then $3
                when $3 operator({{.Bound}}.->) 'seenby'::pg_catalog.text operator(pg_catalog.!~) '^[[:space:]]*[[{]'
                    then pg_catalog.left(pg_catalog.format('mbus4-error %s 22P02 the header seenby is not an array: %s', $1, $3 operator({{.Bound}}.->) 'seenby'::pg_catalog.text), 2000)::int::pg_catalog.text::{{.Bound}}.hstore
                else $3 operator({{.Bound}}.||) {{.Bound}}.hstore('seenby'::pg_catalog.text,
                         pg_catalog.array_append(($3 operator({{.Bound}}.->) 'seenby'::pg_catalog.text)::pg_catalog.text[], pg_catalog.current_database()::pg_catalog.text)::pg_catalog.text)
           end
    limit 1
$$;
