# A call without the schema. Prepared it looks again whenever it runs.
select post('orders', 'id=>1')
---- unprepared
-- first, the session is asked:
select case
    when (
        pg_catalog.current_schemas(false) operator(pg_catalog.@>) array['mbus4']::pg_catalog.name[]
            and not exists (
                select
                from pg_catalog.pg_proc p
                join pg_catalog.pg_namespace n on n.oid = p.pronamespace
                where p.proname = 'post'
                    and pg_catalog.pg_function_is_visible(p.oid)
                    and n.nspname <> 'mbus4'
                    and (p.prokind = 'p' or p.provariadic <> 0 or 2 between p.pronargs - p.pronargdefaults and p.pronargs)
                    and coalesce(p.proargnames, '{}') operator(pg_catalog.@>) array[]::pg_catalog.text[]
            )
            and not exists (
                select
                from (select pg_catalog.to_regproc('post')::pg_catalog.oid as oid offset 0) r
                where r.oid <> 0 and not exists (select from pg_catalog.pg_proc p where p.oid = r.oid)
            )
            and not exists (
                select
                from pg_catalog.pg_type t
                join pg_catalog.pg_namespace n on n.oid = t.typnamespace
                where 2 = 1
                    and t.typname = 'post'
                    and t.typrelid = 0
                    and t.typisdefined
                    and n.nspname = any (pg_catalog.current_schemas(true))
                    and n.oid <> pg_catalog.pg_my_temp_schema()
            )
    )
        then '1'
    else '0'
end;
-- then:
with mbus4_call1_args(n, "qname", "data", "headers", "properties", "delayed_until", "expires", "iid") as (
    select 1::bigint, ('orders')::pg_catalog.text, ('id=>1')::public.hstore, null::mbus4_hstore.hstore, null::mbus4_hstore.hstore,
        null::timestamp without time zone, null::timestamp without time zone, null::pg_catalog.text
),
mbus4_call1_stored as (
    insert into mbus4.message as m (id, consumer_id, available_at, added, expires, properties, data)
    select w.id,
        pg_catalog.unnest(
            case
                when w.consumers <> '{}' and pg_catalog.array_position(w.consumers, null) is null then w.consumers
                else mbus4.at_subscribers_276b417f(
                    '1 _session_secret_', w.queue, w.id, w.added, null, w.delayed_until, w.expires, null, w.properties, w.data,
                    null, true
                )
            end
        ),
        w.added, w.added, w.expires, w.properties, w.data
    from (
        select case
            when pg_catalog.pg_try_advisory_xact_lock_shared(
                1835169140, pg_catalog.hashtext(pg_catalog.lower(a.qname collate "C")) & 63
            )
                then pg_catalog.nextval('mbus4.post_id')
            when pg_catalog.nextval('mbus4.message_id') > 0 then pg_catalog.nextval('mbus4.post_id')
        end as id,
            pg_catalog.clock_timestamp() as added,
            array(
                select case when c.target is null and c.selector_id is null then c.id end
                from mbus4.consumer c
                where c.qname = pg_catalog.lower(a.qname collate "C")
            ) as consumers,
            pg_catalog.lower(a.qname collate "C") as queue,
            a.delayed_until::timestamptz as delayed_until,
            a.expires::timestamptz as expires, a.properties, a.data as data
        from mbus4_call1_args a
        offset 0
    ) w
    returning pg_catalog.lower(('orders')::pg_catalog.text collate "C") || '.' || pg_catalog.current_database() || '.' || case
        when m.available_at < '2038-01-01Z' then (pg_catalog.date_part('epoch', m.available_at) * 1000000)::bigint::text
        when m.available_at < '2200-01-01Z' then (extract(epoch from m.available_at) * 1000000)::bigint::text
        else ''
    end || m.id as iid
),
mbus4_call1 as (
    select 1::bigint as n,
        coalesce(
            (select s.iid from mbus4_call1_stored s limit 1),
            pg_catalog.lower(('orders')::pg_catalog.text collate "C") || '.' || pg_catalog.current_database() || '.' || (
                extract(epoch from pg_catalog.clock_timestamp()) * 1000000
            )::bigint || pg_catalog.nextval('mbus4.post_id')
        ) as post
)
select "post" as "post"
from mbus4_call1;
-- where there is in the database:
create or replace function mbus4.at_subscribers_276b417f(
    call text, queue text, id bigint, added timestamptz, iid text, delayed_until timestamptz, expires timestamptz,
    headers public.hstore, properties public.hstore, data public.hstore, after text[], forwards boolean
) returns bigint[] language plpgsql volatile
set plan_cache_mode = force_generic_plan
set jit = off as $mbus4$ #variable_conflict use_column declare mbus4_ids bigint[]; mbus4_more bigint[]; mbus4_plain boolean; mbus4_general bigint[]; mbus4_routed boolean; mbus4_message mbus4.qt_model; mbus4_text text; mbus4_said int[]; begin select pg_catalog.array_agg(c.id) filter (where c.target is null and c.selector_id is null), pg_catalog.bool_and(c.selector_id is null), pg_catalog.array_agg(c.selector_id) filter (where c.target is null and c.general), pg_catalog.bool_or(c.target is not null) into mbus4_ids, mbus4_plain, mbus4_general, mbus4_routed from mbus4.consumer c where c.qname = $2; if mbus4_ids is null then perform case when exists (select from mbus4.queue q where q.qname = $2) or ($2 operator(pg_catalog.~) '^temp[.][0-9a-f]{32}[.][0-9]+$' and mbus4.is_gone($2, ''||$1||'')) then 0 else pg_catalog.left(pg_catalog.format('mbus4-error '||$1||' 42704 queue %s does not exist', coalesce('"' || $2 || '"', 'null')), 2000)::int end; end if; mbus4_routed := mbus4_routed and $12; if mbus4_plain is null or mbus4_plain and not mbus4_routed then return mbus4_ids; end if; mbus4_message := row($3, $4::timestamp, coalesce($5, $2 || '.' || pg_catalog.current_database() || '.' || (case when (case when $6 > $4 and $2 <> 'dmq' then $6 else $4 end) < '2038-01-01Z' then (pg_catalog.date_part('epoch', (case when $6 > $4 and $2 <> 'dmq' then $6 else $4 end)) * 1000000)::bigint::text when (case when $6 > $4 and $2 <> 'dmq' then $6 else $4 end) < '2200-01-01Z' then (extract(epoch from (case when $6 > $4 and $2 <> 'dmq' then $6 else $4 end)) * 1000000)::bigint::text else '' end || $3)), coalesce($6, $4)::timestamp, $7::timestamp, '{}', mbus4.base_headers($2, $4) operator(mbus4_hstore.||) coalesce($8, ''), $9, $10); if not mbus4_plain then select pg_catalog.array_agg(c.id) into mbus4_more from mbus4.consumer c where c.qname = $2 and c.target is null and c.selector_id is not null and not c.general and (c.asks_headers is null or mbus4_message.headers operator(mbus4_hstore.@>) c.asks_headers) and (c.asks_properties is null or $9 operator(mbus4_hstore.@>) c.asks_properties) and (c.asks_data is null or $10 operator(mbus4_hstore.@>) c.asks_data); mbus4_ids := pg_catalog.array_cat(mbus4_ids, mbus4_more); end if; if mbus4_general is not null then select pg_catalog.array_agg(s.id order by s.id), pg_catalog.string_agg('(' || s.condition || ')', ', ' order by s.id) into mbus4_general, mbus4_text from mbus4.selector s where s.id = any(mbus4_general); execute 'select array[' || mbus4_text || ']::pg_catalog.int4[] from (select ($1).id, ($1).added, ($1).iid, ($1).delayed_until,' || ' ($1).expires, ($1).received, ($1).headers, ($1).properties, ($1).data offset 0) t' into mbus4_said using mbus4_message; select pg_catalog.array_agg(c.id) into mbus4_more from mbus4.consumer c where c.qname = $2 and c.target is null and c.general and case mbus4_said[pg_catalog.array_position(mbus4_general, c.selector_id)] when 1 then true when -1 then mbus4.count_selector_error(c.id, $3) < 0 end; mbus4_ids := pg_catalog.array_cat(mbus4_ids, mbus4_more); end if; if mbus4_routed then perform mbus4.copy_along_triggers($2, mbus4_message, $8, $6, $7, $11); end if; return mbus4_ids; end $mbus4$
---- prepared
-- first, the session is asked:
select case
    when (
        pg_catalog.current_schemas(false) operator(pg_catalog.@>) array['mbus4']::pg_catalog.name[]
            and not exists (
                select
                from pg_catalog.pg_proc p
                join pg_catalog.pg_namespace n on n.oid = p.pronamespace
                where p.proname = 'post'
                    and pg_catalog.pg_function_is_visible(p.oid)
                    and n.nspname <> 'mbus4'
                    and (p.prokind = 'p' or p.provariadic <> 0 or 2 between p.pronargs - p.pronargdefaults and p.pronargs)
                    and coalesce(p.proargnames, '{}') operator(pg_catalog.@>) array[]::pg_catalog.text[]
            )
            and not exists (
                select
                from (select pg_catalog.to_regproc('post')::pg_catalog.oid as oid offset 0) r
                where r.oid <> 0 and not exists (select from pg_catalog.pg_proc p where p.oid = r.oid)
            )
            and not exists (
                select
                from pg_catalog.pg_type t
                join pg_catalog.pg_namespace n on n.oid = t.typnamespace
                where 2 = 1
                    and t.typname = 'post'
                    and t.typrelid = 0
                    and t.typisdefined
                    and n.nspname = any (pg_catalog.current_schemas(true))
                    and n.oid <> pg_catalog.pg_my_temp_schema()
            )
    )
        then '1'
    else '0'
end;
-- then:
with mbus4_call1_args(n, "qname", "data", "headers", "properties", "delayed_until", "expires", "iid") as (
    select 1::bigint,
        (
            case
                when (
                    select case
                        when (
                            pg_catalog.current_schemas(false) operator(pg_catalog.@>) array['mbus4']::pg_catalog.name[]
                                and not exists (
                                    select
                                    from pg_catalog.pg_proc p
                                    join pg_catalog.pg_namespace n on n.oid = p.pronamespace
                                    where p.proname = 'post'
                                        and pg_catalog.pg_function_is_visible(p.oid)
                                        and n.nspname <> 'mbus4'
                                        and (
                                            p.prokind = 'p'
                                                or p.provariadic <> 0
                                                or 2 between p.pronargs - p.pronargdefaults
                                                and p.pronargs
                                        )
                                        and coalesce(p.proargnames, '{}') operator(pg_catalog.@>) array[]::pg_catalog.text[]
                                )
                                and not exists (
                                    select
                                    from (select pg_catalog.to_regproc('post')::pg_catalog.oid as oid offset 0) r
                                    where r.oid <> 0 and not exists (select from pg_catalog.pg_proc p where p.oid = r.oid)
                                )
                                and not exists (
                                    select
                                    from pg_catalog.pg_type t
                                    join pg_catalog.pg_namespace n on n.oid = t.typnamespace
                                    where 2 = 1
                                        and t.typname = 'post'
                                        and t.typrelid = 0
                                        and t.typisdefined
                                        and n.nspname = any (pg_catalog.current_schemas(true))
                                        and n.oid <> pg_catalog.pg_my_temp_schema()
                                )
                        )
                            then true
                        else pg_catalog.left(
                            pg_catalog.format(
                                'mbus4-error 1 _session_secret_ 42725 the name %s no longer means mbus4.%s', 'post', 'post'
                            ),
                            2000
                        )::int is null
                    end
                )
                    then ('orders')::pg_catalog.text
            end
        ),
        ('id=>1')::public.hstore, null::mbus4_hstore.hstore, null::mbus4_hstore.hstore, null::timestamp without time zone,
        null::timestamp without time zone, null::pg_catalog.text
),
mbus4_call1_stored as (
    insert into mbus4.message as m (id, consumer_id, available_at, added, expires, properties, data)
    select w.id,
        pg_catalog.unnest(
            case
                when w.consumers <> '{}' and pg_catalog.array_position(w.consumers, null) is null then w.consumers
                else mbus4.at_subscribers_276b417f(
                    '1 _session_secret_', w.queue, w.id, w.added, null, w.delayed_until, w.expires, null, w.properties, w.data,
                    null, true
                )
            end
        ),
        w.added, w.added, w.expires, w.properties, w.data
    from (
        select case
            when pg_catalog.pg_try_advisory_xact_lock_shared(
                1835169140, pg_catalog.hashtext(pg_catalog.lower(a.qname collate "C")) & 63
            )
                then pg_catalog.nextval('mbus4.post_id')
            when pg_catalog.nextval('mbus4.message_id') > 0 then pg_catalog.nextval('mbus4.post_id')
        end as id,
            pg_catalog.clock_timestamp() as added,
            array(
                select case when c.target is null and c.selector_id is null then c.id end
                from mbus4.consumer c
                where c.qname = pg_catalog.lower(a.qname collate "C")
            ) as consumers,
            pg_catalog.lower(a.qname collate "C") as queue,
            a.delayed_until::timestamptz as delayed_until,
            a.expires::timestamptz as expires, a.properties, a.data as data
        from mbus4_call1_args a
        offset 0
    ) w
    returning pg_catalog.lower(
        (
            case
                when (
                    select case
                        when (
                            pg_catalog.current_schemas(false) operator(pg_catalog.@>) array['mbus4']::pg_catalog.name[]
                                and not exists (
                                    select
                                    from pg_catalog.pg_proc p
                                    join pg_catalog.pg_namespace n on n.oid = p.pronamespace
                                    where p.proname = 'post'
                                        and pg_catalog.pg_function_is_visible(p.oid)
                                        and n.nspname <> 'mbus4'
                                        and (
                                            p.prokind = 'p'
                                                or p.provariadic <> 0
                                                or 2 between p.pronargs - p.pronargdefaults
                                                and p.pronargs
                                        )
                                        and coalesce(p.proargnames, '{}') operator(pg_catalog.@>) array[]::pg_catalog.text[]
                                )
                                and not exists (
                                    select
                                    from (select pg_catalog.to_regproc('post')::pg_catalog.oid as oid offset 0) r
                                    where r.oid <> 0 and not exists (select from pg_catalog.pg_proc p where p.oid = r.oid)
                                )
                                and not exists (
                                    select
                                    from pg_catalog.pg_type t
                                    join pg_catalog.pg_namespace n on n.oid = t.typnamespace
                                    where 2 = 1
                                        and t.typname = 'post'
                                        and t.typrelid = 0
                                        and t.typisdefined
                                        and n.nspname = any (pg_catalog.current_schemas(true))
                                        and n.oid <> pg_catalog.pg_my_temp_schema()
                                )
                        )
                            then true
                        else pg_catalog.left(
                            pg_catalog.format(
                                'mbus4-error 1 _session_secret_ 42725 the name %s no longer means mbus4.%s', 'post', 'post'
                            ),
                            2000
                        )::int is null
                    end
                )
                    then ('orders')::pg_catalog.text
            end
        ) collate "C"
    ) || '.' || pg_catalog.current_database() || '.' || case
        when m.available_at < '2038-01-01Z' then (pg_catalog.date_part('epoch', m.available_at) * 1000000)::bigint::text
        when m.available_at < '2200-01-01Z' then (extract(epoch from m.available_at) * 1000000)::bigint::text
        else ''
    end || m.id as iid
),
mbus4_call1 as (
    select 1::bigint as n,
        coalesce(
            (select s.iid from mbus4_call1_stored s limit 1),
            pg_catalog.lower(
                (
                    case
                        when (
                            select case
                                when (
                                    pg_catalog.current_schemas(false) operator(pg_catalog.@>) array['mbus4']::pg_catalog.name[]
                                        and not exists (
                                            select
                                            from pg_catalog.pg_proc p
                                            join pg_catalog.pg_namespace n on n.oid = p.pronamespace
                                            where p.proname = 'post'
                                                and pg_catalog.pg_function_is_visible(p.oid)
                                                and n.nspname <> 'mbus4'
                                                and (
                                                    p.prokind = 'p'
                                                        or p.provariadic <> 0
                                                        or 2 between p.pronargs - p.pronargdefaults
                                                        and p.pronargs
                                                )
                                                and coalesce(p.proargnames, '{}')
                                                    operator(pg_catalog.@>) array[]::pg_catalog.text[]
                                        )
                                        and not exists (
                                            select
                                            from (select pg_catalog.to_regproc('post')::pg_catalog.oid as oid offset 0) r
                                            where r.oid <> 0 and not exists (select from pg_catalog.pg_proc p where p.oid = r.oid)
                                        )
                                        and not exists (
                                            select
                                            from pg_catalog.pg_type t
                                            join pg_catalog.pg_namespace n on n.oid = t.typnamespace
                                            where 2 = 1
                                                and t.typname = 'post'
                                                and t.typrelid = 0
                                                and t.typisdefined
                                                and n.nspname = any (pg_catalog.current_schemas(true))
                                                and n.oid <> pg_catalog.pg_my_temp_schema()
                                        )
                                )
                                    then true
                                else pg_catalog.left(
                                    pg_catalog.format(
                                        'mbus4-error 1 _session_secret_ 42725 the name %s no longer means mbus4.%s',
                                        'post', 'post'
                                    ),
                                    2000
                                )::int is null
                            end
                        )
                            then ('orders')::pg_catalog.text
                    end
                ) collate "C"
            ) || '.' || pg_catalog.current_database() || '.' || (extract(epoch from pg_catalog.clock_timestamp()) * 1000000)::bigint || pg_catalog.nextval(
                'mbus4.post_id'
            )
        ) as post
)
select "post" as "post"
from mbus4_call1;
-- where there is in the database:
create or replace function mbus4.at_subscribers_276b417f(
    call text, queue text, id bigint, added timestamptz, iid text, delayed_until timestamptz, expires timestamptz,
    headers public.hstore, properties public.hstore, data public.hstore, after text[], forwards boolean
) returns bigint[] language plpgsql volatile
set plan_cache_mode = force_generic_plan
set jit = off as $mbus4$ #variable_conflict use_column declare mbus4_ids bigint[]; mbus4_more bigint[]; mbus4_plain boolean; mbus4_general bigint[]; mbus4_routed boolean; mbus4_message mbus4.qt_model; mbus4_text text; mbus4_said int[]; begin select pg_catalog.array_agg(c.id) filter (where c.target is null and c.selector_id is null), pg_catalog.bool_and(c.selector_id is null), pg_catalog.array_agg(c.selector_id) filter (where c.target is null and c.general), pg_catalog.bool_or(c.target is not null) into mbus4_ids, mbus4_plain, mbus4_general, mbus4_routed from mbus4.consumer c where c.qname = $2; if mbus4_ids is null then perform case when exists (select from mbus4.queue q where q.qname = $2) or ($2 operator(pg_catalog.~) '^temp[.][0-9a-f]{32}[.][0-9]+$' and mbus4.is_gone($2, ''||$1||'')) then 0 else pg_catalog.left(pg_catalog.format('mbus4-error '||$1||' 42704 queue %s does not exist', coalesce('"' || $2 || '"', 'null')), 2000)::int end; end if; mbus4_routed := mbus4_routed and $12; if mbus4_plain is null or mbus4_plain and not mbus4_routed then return mbus4_ids; end if; mbus4_message := row($3, $4::timestamp, coalesce($5, $2 || '.' || pg_catalog.current_database() || '.' || (case when (case when $6 > $4 and $2 <> 'dmq' then $6 else $4 end) < '2038-01-01Z' then (pg_catalog.date_part('epoch', (case when $6 > $4 and $2 <> 'dmq' then $6 else $4 end)) * 1000000)::bigint::text when (case when $6 > $4 and $2 <> 'dmq' then $6 else $4 end) < '2200-01-01Z' then (extract(epoch from (case when $6 > $4 and $2 <> 'dmq' then $6 else $4 end)) * 1000000)::bigint::text else '' end || $3)), coalesce($6, $4)::timestamp, $7::timestamp, '{}', mbus4.base_headers($2, $4) operator(mbus4_hstore.||) coalesce($8, ''), $9, $10); if not mbus4_plain then select pg_catalog.array_agg(c.id) into mbus4_more from mbus4.consumer c where c.qname = $2 and c.target is null and c.selector_id is not null and not c.general and (c.asks_headers is null or mbus4_message.headers operator(mbus4_hstore.@>) c.asks_headers) and (c.asks_properties is null or $9 operator(mbus4_hstore.@>) c.asks_properties) and (c.asks_data is null or $10 operator(mbus4_hstore.@>) c.asks_data); mbus4_ids := pg_catalog.array_cat(mbus4_ids, mbus4_more); end if; if mbus4_general is not null then select pg_catalog.array_agg(s.id order by s.id), pg_catalog.string_agg('(' || s.condition || ')', ', ' order by s.id) into mbus4_general, mbus4_text from mbus4.selector s where s.id = any(mbus4_general); execute 'select array[' || mbus4_text || ']::pg_catalog.int4[] from (select ($1).id, ($1).added, ($1).iid, ($1).delayed_until,' || ' ($1).expires, ($1).received, ($1).headers, ($1).properties, ($1).data offset 0) t' into mbus4_said using mbus4_message; select pg_catalog.array_agg(c.id) into mbus4_more from mbus4.consumer c where c.qname = $2 and c.target is null and c.general and case mbus4_said[pg_catalog.array_position(mbus4_general, c.selector_id)] when 1 then true when -1 then mbus4.count_selector_error(c.id, $3) < 0 end; mbus4_ids := pg_catalog.array_cat(mbus4_ids, mbus4_more); end if; if mbus4_routed then perform mbus4.copy_along_triggers($2, mbus4_message, $8, $6, $7, $11); end if; return mbus4_ids; end $mbus4$
