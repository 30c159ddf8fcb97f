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
    select 1::bigint, ('orders')::pg_catalog.text, ('id=>1')::public.hstore, null::public.hstore, null::public.hstore,
        null::timestamp without time zone, null::timestamp without time zone, null::pg_catalog.text
),
mbus4_call1_posted as materialized (
    select z.n, z.id, z.queue, z.added, z.at, z.delayed_until, z.expires, z.properties, z.data, z.iid,
        case
            when z.choosy
                or z.routed
                then mbus4.subscribers_late(
                    z.consumers, z.queue, z.id, z.added, z.iid, z.delayed_until, z.expires, z.properties, z.data
                )
            else z.consumers
        end as consumers
    from (
        select y.*,
            y.prefix || case
                when y.at < '2038-01-01Z' then (pg_catalog.date_part('epoch', y.at) * 1000000)::bigint::text
                when y.at < '2200-01-01Z' then (extract(epoch from y.at) * 1000000)::bigint::text
                else ''
            end || y.id as iid
        from (
            select x.*, case when x.delayed_until > x.added and x.queue <> 'dmq' then x.delayed_until else x.added end as at
            from (
                select a.n,
                    pg_catalog.nextval('mbus4.message_id') as id,
                    pg_catalog.clock_timestamp() as added,
                    case
                        when r.consumers is not null
                            or exists (select from mbus4.queue q where q.qname = pg_catalog.lower(a.qname collate "C"))
                            or (
                                pg_catalog.lower(a.qname collate "C") operator(pg_catalog.~) '^temp[.][0-9a-f]{32}[.][0-9]+$'
                                    and mbus4.is_gone(pg_catalog.lower(a.qname collate "C"), '1 _session_secret_')
                            )
                            then pg_catalog.lower(a.qname collate "C")
                        else pg_catalog.format(
                            'mbus4-error 1 _session_secret_ 42704 queue %s does not exist',
                            coalesce('"' || pg_catalog.lower(a.qname collate "C") || '"', 'null')
                        )::int::text
                    end as queue,
                    (pg_catalog.lower(a.qname collate "C") || '.' || pg_catalog.current_database() || '.') as prefix,
                    a.delayed_until::timestamptz as delayed_until,
                    a.expires::timestamptz as expires, a.properties, a.data, r.consumers, r.choosy, r.general, r.routed
                from mbus4_call1_args a
                left join lateral (
                    select pg_catalog.array_agg(c.id) filter (where c.target is null and c.selector_id is null) as consumers,
                        pg_catalog.bool_or(c.target is null and c.selector_id is not null) as choosy,
                        pg_catalog.bool_or(c.target is null and c.general) as general,
                        pg_catalog.bool_or(c.target is not null) as routed
                    from mbus4.consumer c
                    where c.qname = pg_catalog.lower(a.qname collate "C")
                ) r on true
                offset 0
            ) x
        ) y
        offset 0
    ) z
),
mbus4_call1_stored as (
    insert into mbus4.message (id, consumer_id, available_at, added, iid, delayed_until, expires, properties, data)
    select p.id, pg_catalog.unnest(p.consumers), p.at, p.added,
        case when p.at >= '2200-01-01Z' then p.iid end,
        p.delayed_until, p.expires, p.properties, p.data
    from mbus4_call1_posted p
),
mbus4_call1 as (select p.n, p.iid as post from mbus4_call1_posted p)
select (select "post" as "post" from mbus4_call1)
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
                        else pg_catalog.format(
                            'mbus4-error 1 _session_secret_ 42725 the name %s no longer means mbus4.%s', 'post', 'post'
                        )::int is null
                    end
                )
                    then ('orders')::pg_catalog.text
            end
        ),
        ('id=>1')::public.hstore, null::public.hstore, null::public.hstore, null::timestamp without time zone,
        null::timestamp without time zone, null::pg_catalog.text
),
mbus4_call1_posted as materialized (
    select z.n, z.id, z.queue, z.added, z.at, z.delayed_until, z.expires, z.properties, z.data, z.iid,
        case
            when z.choosy
                or z.routed
                then mbus4.subscribers_late(
                    z.consumers, z.queue, z.id, z.added, z.iid, z.delayed_until, z.expires, z.properties, z.data
                )
            else z.consumers
        end as consumers
    from (
        select y.*,
            y.prefix || case
                when y.at < '2038-01-01Z' then (pg_catalog.date_part('epoch', y.at) * 1000000)::bigint::text
                when y.at < '2200-01-01Z' then (extract(epoch from y.at) * 1000000)::bigint::text
                else ''
            end || y.id as iid
        from (
            select x.*, case when x.delayed_until > x.added and x.queue <> 'dmq' then x.delayed_until else x.added end as at
            from (
                select a.n,
                    pg_catalog.nextval('mbus4.message_id') as id,
                    pg_catalog.clock_timestamp() as added,
                    case
                        when r.consumers is not null
                            or exists (select from mbus4.queue q where q.qname = pg_catalog.lower(a.qname collate "C"))
                            or (
                                pg_catalog.lower(a.qname collate "C") operator(pg_catalog.~) '^temp[.][0-9a-f]{32}[.][0-9]+$'
                                    and mbus4.is_gone(pg_catalog.lower(a.qname collate "C"), '1 _session_secret_')
                            )
                            then pg_catalog.lower(a.qname collate "C")
                        else pg_catalog.format(
                            'mbus4-error 1 _session_secret_ 42704 queue %s does not exist',
                            coalesce('"' || pg_catalog.lower(a.qname collate "C") || '"', 'null')
                        )::int::text
                    end as queue,
                    (pg_catalog.lower(a.qname collate "C") || '.' || pg_catalog.current_database() || '.') as prefix,
                    a.delayed_until::timestamptz as delayed_until,
                    a.expires::timestamptz as expires, a.properties, a.data, r.consumers, r.choosy, r.general, r.routed
                from mbus4_call1_args a
                left join lateral (
                    select pg_catalog.array_agg(c.id) filter (where c.target is null and c.selector_id is null) as consumers,
                        pg_catalog.bool_or(c.target is null and c.selector_id is not null) as choosy,
                        pg_catalog.bool_or(c.target is null and c.general) as general,
                        pg_catalog.bool_or(c.target is not null) as routed
                    from mbus4.consumer c
                    where c.qname = pg_catalog.lower(a.qname collate "C")
                ) r on true
                offset 0
            ) x
        ) y
        offset 0
    ) z
),
mbus4_call1_stored as (
    insert into mbus4.message (id, consumer_id, available_at, added, iid, delayed_until, expires, properties, data)
    select p.id, pg_catalog.unnest(p.consumers), p.at, p.added,
        case when p.at >= '2200-01-01Z' then p.iid end,
        p.delayed_until, p.expires, p.properties, p.data
    from mbus4_call1_posted p
),
mbus4_call1 as (select p.n, p.iid as post from mbus4_call1_posted p)
select (select "post" as "post" from mbus4_call1)
