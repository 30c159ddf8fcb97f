select * from mbus4.consume('orders')
----
-- for a database without selectors and without messages that wait for others, hstore in schema public; --admin names one to look at
-- line 1, column 15: mbus4.consume(qname text, cname text default 'default') returns setof mbus4.qt_model
--   inline, by WITH queries
-- sent again and again, it is run by a statement that is prepared in the session, in which these literals are parameters: 'orders'
-- the server gets:
with mbus4_call1_args(n, "qname", "cname") as (select 1::bigint, ('orders')::pg_catalog.text, 'default'::pg_catalog.text),
mbus4_call1_consumer as materialized (
    select coalesce(
        c.id,
        (
            case
                when exists (select from mbus4.queue q where q.qname = pg_catalog.lower(a.qname collate "C"))
                    then pg_catalog.format(
                        'mbus4-error 1 _session_secret_ 42704 queue "%s" has no consumer %s',
                        a.qname, coalesce('"' || a.cname || '"', 'null')
                    )
                else pg_catalog.format(
                    'mbus4-error 1 _session_secret_ 42704 queue %s does not exist', coalesce('"' || a.qname || '"', 'null')
                )
            end
        )::int
    ) as id,
        1 as amt, pg_catalog.clock_timestamp() as now,
        pg_catalog.to_timestamp(
            coalesce(pg_catalog.pg_sequence_last_value(('mbus4.hint_' || c.id % 128)::regclass), 0) / 1000000.0
        ) as low,
        c.qname as queue,
        public.hstore(
            array[
                'source_db', pg_catalog.current_database()::text, 'destination_queue', c.qname, 'seenby',
                array[pg_catalog.current_database()::text]::text
            ]
        )
            operator(public.||) public.hstore(
                array['destination', c.qname] || case
                    when pg_catalog.starts_with(c.qname, 'temp.') then array['tempq', c.qname]
                end
            ) as headers,
        case
            when c.qname = 'dmq' then ''
            else public.hstore(
                array['destination', c.qname] || case
                    when pg_catalog.starts_with(c.qname, 'temp.') then array['tempq', c.qname]
                end
            )
        end as destination,
        pg_catalog.starts_with(pg_catalog.current_setting('datestyle'), 'ISO') as iso
    from mbus4_call1_args a
    left join mbus4.consumer c on c.qname = pg_catalog.lower(a.qname collate "C")
        and c.name = pg_catalog.lower(a.cname collate "C")
),
mbus4_call1_taken as (
    delete from mbus4.message m
    where m.ctid = any(
        array(
            select x.ctid
            from mbus4.message x
            where x.consumer_id = (select k.id from mbus4_call1_consumer k)
                and (x.available_at, x.id) >= ((select k.low from mbus4_call1_consumer k), 0)
                and x.available_at <= (select k.now from mbus4_call1_consumer k)
                and (
                    case
                        when x.expires <= (select k.now from mbus4_call1_consumer k) and x.consumer_id <> 1 then null
                        when x.after is not null and mbus4.any_undelivered(x.after) then null
                        else 0
                    end
                ) is not null
            order by x.available_at, x.id
            limit (select k.amt from mbus4_call1_consumer k)
            for update skip locked
        )
    )
    returning m.id, m.consumer_id, m.available_at, m.added::timestamp as added,
        m.delayed_until::timestamp as delayed_until,
        m.expires, m.received, m.headers, m.properties, m.data,
        coalesce(
            m.iid,
            (select k.queue from mbus4_call1_consumer k) || '.' || pg_catalog.current_database() || '.' || (
                extract(epoch from m.available_at) * 1000000
            )::bigint || m.id
        ) as iid
),
mbus4_call1 as (
    select 1::bigint as n,
        row(
            d.id, d.added, d.iid, coalesce(d.delayed_until, d.added), d.expires, coalesce(d.received, '{}'),
            case
                when d.headers is null
                    then k.headers
                        operator(public.||) public.hstore(
                            'enqueue_time'::text, case when k.iso then d.added::text else mbus4.time_text(d.added) end
                        )
                else k.headers
                    operator(public.||) public.hstore(
                        'enqueue_time'::text, case when k.iso then d.added::text else mbus4.time_text(d.added) end
                    )
                    operator(public.||) d.headers
                    operator(public.||) k.destination
            end,
            d.properties, d.data
        )::mbus4.qt_model as consume
    from mbus4_call1_taken d, mbus4_call1_consumer k
    order by d.available_at, d.id
)
select *
from pg_catalog.unnest(array(select "consume" from mbus4_call1)) as "consume";
