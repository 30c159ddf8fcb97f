select mbus4.post('orders', 'id=>1')
----
-- for a database without selectors and without messages that wait for others, hstore in schema public; --admin names one to look at
-- line 1, column 8: mbus4.post(qname text, data hstore, headers hstore default null, properties hstore default null, delayed_until timestamp without time zone default null, expires timestamp without time zone default null, iid text default null) returns text
--   inline, by WITH queries
-- sent again and again, it is run by a statement that is prepared in the session, in which these literals are parameters: 'orders', 'id=>1'
-- the server gets:
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
select (select "post" as "post" from mbus4_call1);
