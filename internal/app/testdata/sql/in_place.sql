# In a place where only the server knows whether and how often a call runs, a function does the work.
select id, case when big then mbus4.post('orders', 'id=>1') end from orders
----
select id,
    case
        when big
            then mbus4.at_post_5cb15eaa(
                ('orders')::pg_catalog.text, ('id=>1')::public.hstore, null::public.hstore, null::timestamp without time zone,
                null::timestamp without time zone, '1 _session_secret_'
            )
    end
from orders;
-- where there is in the database:
create or replace function mbus4.at_post_5cb15eaa(
    pg_catalog.text, public.hstore, public.hstore, timestamp without time zone, timestamp without time zone, pg_catalog.text
) returns pg_catalog.text language sql volatile as '
    with mbus4_call_args (n, "qname", "data", "properties", "delayed_until", "expires") as (select 1::bigint, $1, $2, $3, $4, $5),
    mbus4_call_posted as materialized (
        select z.n, z.id, z.queue, z.added, z.at, z.delayed_until, z.expires, z.properties, z.data, z.iid,
            case
                when z.choosy
                    then pg_catalog.array_cat(
                        z.consumers,
                        pg_catalog.array_cat(
                            (
                                select pg_catalog.array_agg(c.id::bigint)
                                from mbus4.consumer c
                                where c.qname = z.queue
                                    and c.target is null
                                    and c.selector_id is not null
                                    and not c.general
                                    and (c.asks_properties is null or z.properties operator(public.@>) c.asks_properties)
                                    and (c.asks_data is null or z.data operator(public.@>) c.asks_data)
                                    and (
                                        c.asks_headers is null
                                            or (
                                                mbus4.posted_row(
                                                    z.id, z.queue, z.added, z.iid, z.delayed_until, z.expires, null, z.properties,
                                                    z.data
                                                )
                                            ).headers
                                                operator(public.@>) c.asks_headers
                                    )
                            ),
                            case
                                when z.general
                                    then mbus4.general_consumers(
                                        z.queue, false,
                                        mbus4.posted_row(
                                            z.id, z.queue, z.added, z.iid, z.delayed_until, z.expires, null, z.properties, z.data
                                        )
                                    )
                            end
                        )
                    )
                else z.consumers
            end as consumers,
            case
                when z.routed
                    then mbus4.forward(
                        z.queue,
                        mbus4.posted_row(z.id, z.queue, z.added, z.iid, z.delayed_until, z.expires, null, z.properties, z.data),
                        null, z.delayed_until, z.expires, null
                    )
            end as copies
        from (
            select y.*,
                y.prefix || case
                    when y.at < ''2038-01-01Z'' then (pg_catalog.date_part(''epoch'', y.at) * 1000000)::bigint::text
                    when y.at < ''2200-01-01Z'' then (extract(epoch from y.at) * 1000000)::bigint::text
                    else ''''
                end || y.id as iid
            from (
                select x.*, case when x.delayed_until > x.added and x.queue <> ''dmq'' then x.delayed_until else x.added end as at
                from (
                    select a.n,
                        pg_catalog.nextval(''mbus4.message_id'') as id,
                        pg_catalog.clock_timestamp() as added,
                        case
                            when r.consumers is not null
                                or exists (select from mbus4.queue q where q.qname = pg_catalog.lower(a.qname collate "C"))
                                or (
                                    pg_catalog.lower(a.qname collate "C") operator(pg_catalog.~) ''^temp[.][0-9a-f]{32}[.][0-9]+$''
                                        and mbus4.is_gone(pg_catalog.lower(a.qname collate "C"), ''''||$6||'''')
                                )
                                then pg_catalog.lower(a.qname collate "C")
                            else pg_catalog.format(
                                ''mbus4-error ''||$6||'' 42704 queue %s does not exist'',
                                coalesce(''"'' || pg_catalog.lower(a.qname collate "C") || ''"'', ''null'')
                            )::int::text
                        end as queue,
                        (pg_catalog.lower(a.qname collate "C") || ''.'' || pg_catalog.current_database() || ''.'') as prefix,
                        a.delayed_until::timestamptz as delayed_until,
                        a.expires::timestamptz as expires, a.properties, a.data, r.consumers, r.choosy, r.general, r.routed
                    from mbus4_call_args a
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
    mbus4_call_stored as (
        insert into mbus4.message (id, consumer_id, available_at, added, iid, delayed_until, expires, properties, data)
        select p.id, pg_catalog.unnest(p.consumers), p.at, p.added,
            case when p.at >= ''2200-01-01Z'' then p.iid end,
            p.delayed_until, p.expires, p.properties, p.data
        from mbus4_call_posted p
    ),
    mbus4_call as (select p.n, p.iid as post from mbus4_call_posted p)
    select mbus4_call."post"
    from mbus4_call
'

# Consuming, and waking what waits: messages wait for others.
select (select iid from mbus4.consume(q.name) limit 1) from queues q
----
select (
    select iid
    from mbus4.at_consume_waking_9cd41173((q.name)::pg_catalog.text, 'default'::pg_catalog.text, '1 _session_secret_') as "consume"
    limit 1
)
from queues q;
-- where there is in the database:
create or replace function mbus4.at_consume_waking_9cd41173(pg_catalog.text, pg_catalog.text, pg_catalog.text) returns setof mbus4.qt_model language sql volatile rows 1 as '
    with mbus4_call_args (n, "qname", "cname") as (select 1::bigint, $1, $2),
    mbus4_call_consumer as materialized (
        select coalesce(
            c.id,
            (
                case
                    when exists (select from mbus4.queue q where q.qname = pg_catalog.lower(a.qname collate "C"))
                        then pg_catalog.format(
                            ''mbus4-error ''||$3||'' 42704 queue "%s" has no consumer %s'',
                            a.qname, coalesce(''"'' || a.cname || ''"'', ''null'')
                        )
                    else pg_catalog.format(
                        ''mbus4-error ''||$3||'' 42704 queue %s does not exist'', coalesce(''"'' || a.qname || ''"'', ''null'')
                    )
                end
            )::int
        ) as id,
            1 as amt, pg_catalog.clock_timestamp() as now,
            pg_catalog.to_timestamp(
                coalesce(pg_catalog.pg_sequence_last_value((''mbus4.hint_'' || c.id % 128)::regclass), 0) / 1000000.0
            ) as low,
            c.qname as queue,
            public.hstore(
                array[
                    ''source_db'', pg_catalog.current_database()::text, ''destination_queue'', c.qname, ''seenby'',
                    array[pg_catalog.current_database()::text]::text
                ]
            )
                operator(public.||) public.hstore(
                    array[''destination'', c.qname] || case
                        when pg_catalog.starts_with(c.qname, ''temp.'') then array[''tempq'', c.qname]
                    end
                ) as headers,
            case
                when c.qname = ''dmq'' then ''''
                else public.hstore(
                    array[''destination'', c.qname] || case
                        when pg_catalog.starts_with(c.qname, ''temp.'') then array[''tempq'', c.qname]
                    end
                )
            end as destination,
            pg_catalog.starts_with(pg_catalog.current_setting(''datestyle''), ''ISO'') as iso
        from mbus4_call_args a
        left join mbus4.consumer c on c.qname = pg_catalog.lower(a.qname collate "C")
            and c.name = pg_catalog.lower(a.cname collate "C")
    ),
    mbus4_call_taken as (
        delete from mbus4.message m
        where m.ctid = any(
            array(
                select x.ctid
                from mbus4.message x
                where x.consumer_id = (select k.id from mbus4_call_consumer k)
                    and (x.available_at, x.id) >= ((select k.low from mbus4_call_consumer k), 0)
                    and x.available_at <= (select k.now from mbus4_call_consumer k)
                    and (
                        case
                            when x.expires <= (select k.now from mbus4_call_consumer k) and x.consumer_id <> 1 then null
                            when x.after is not null and mbus4.any_undelivered(x.after) then null
                            else 0
                        end
                    ) is not null
                order by x.available_at, x.id
                limit (select k.amt from mbus4_call_consumer k)
                for update skip locked
            )
        )
        returning m.id, m.consumer_id, m.available_at, m.added::timestamp as added,
            m.delayed_until::timestamp as delayed_until,
            m.expires, m.received, m.headers, m.properties, m.data,
            coalesce(
                m.iid,
                (select k.queue from mbus4_call_consumer k) || ''.'' || pg_catalog.current_database() || ''.'' || (
                    extract(epoch from m.available_at) * 1000000
                )::bigint || m.id
            ) as iid
    ),
    mbus4_call_woken as (
        update mbus4.message m
        set available_at = case
            when pg_catalog.nextval(''mbus4.message_id'') > 0 then greatest(m.delayed_until, pg_catalog.clock_timestamp())
        end
        where m.ctid = any(
            array(
                select pg_catalog.unnest(mbus4.wakeable(w.iids))
                from (
                    select pg_catalog.array_agg(d.iid) as iids
                    from mbus4_call_taken d
                    where (select 1 from mbus4.waiting g where g.dep = d.iid order by g.dep, g.consumer_id, g.id limit 1) is not null
                ) w
                where w.iids is not null
            )
        )
    ),
    mbus4_call as (
        select 1::bigint as n,
            row(
                d.id, d.added, d.iid, coalesce(d.delayed_until, d.added), d.expires, coalesce(d.received, ''{}''),
                case
                    when d.headers is null
                        then k.headers
                            operator(public.||) public.hstore(
                                ''enqueue_time''::text, case when k.iso then d.added::text else mbus4.time_text(d.added) end
                            )
                    else k.headers
                        operator(public.||) public.hstore(
                            ''enqueue_time''::text, case when k.iso then d.added::text else mbus4.time_text(d.added) end
                        )
                        operator(public.||) d.headers
                        operator(public.||) k.destination
                end,
                d.properties, d.data
            )::mbus4.qt_model as consume
        from mbus4_call_taken d, mbus4_call_consumer k
        order by d.available_at, d.id
    )
    select (mbus4_call."consume").*
    from mbus4_call
'
