select * from mbus4.consume('orders')
----
-- for a database without messages that wait for others; --admin names one to look at
-- line 1, column 15: mbus4.consume(qname text, cname text default 'default', wait interval default null) returns setof mbus4.qt_model
--   inline, by WITH queries
-- sent again and again, it is run by a statement that is prepared in the session, in which these literals are parameters: 'orders'
-- the server gets:
with mbus4_call1_args(n, "qname", "cname") as (select 1::bigint, ('orders')::pg_catalog.text, 'default'::pg_catalog.text),
mbus4_call1_taken as (
    delete from mbus4.message m
    where m.ctid = any(
        array(
            select x.ctid
            from (
                select c.id >> 12 as id, c.amt, c.now,
                    pg_catalog.to_timestamp(
                        coalesce(
                            pg_catalog.pg_sequence_last_value(
                                ('mbus4.hint_' || ((c.id & 4095::bigint))::pg_catalog.text)::pg_catalog.regclass
                            ),
                            0
                        )::pg_catalog.float8 / 1000000.0::pg_catalog.float8
                    ) as low
                from (
                    select coalesce(
                        (
                            select (case when c.paused is null then c.id else -c.id end) << 12 | coalesce(
                                c.hint, c.id % 128::bigint
                            )
                            from mbus4.consumer c
                            where c.qname = pg_catalog.lower(a.qname collate "C")
                                and c.name = pg_catalog.lower(a.cname collate "C")
                        ),
                        mbus4.at_no_consumer_56bdd364('1 _session_secret_', a.qname, a.cname)
                    ) as id,
                        1 as amt, pg_catalog.clock_timestamp() as now
                    from mbus4_call1_args a
                    offset 0
                ) c
                offset 0
            ) k
            cross join lateral (
                select x.ctid
                from mbus4.message x
                where x.consumer_id = k.id
                    and (x.available_at, x.id) >= (k.low, 0)
                    and x.available_at <= k.now
                    and (
                        case
                            when x.expires <= k.now and x.consumer_id <> 1 then null
                            when x.after is not null and mbus4.awaits_delivery(x.after) then null
                            else 0
                        end
                    ) is not null
                order by x.available_at, x.id
                limit k.amt
                for update skip locked
            ) x
        )
    )
    returning m.id, m.consumer_id, m.available_at, m.added, m.delayed_until, m.expires, m.received, m.headers, m.properties,
        m.data, m.iid
),
mbus4_call1 as (
    select 1::bigint as n,
        row(
            d.id, d.added::timestamp,
            coalesce(
                d.iid,
                pg_catalog.lower((('orders')::pg_catalog.text) collate "C") || '.' || pg_catalog.current_database()::pg_catalog.text || '.' || case
                    when d.available_at < '2038-01-01Z'
                        then (pg_catalog.date_part('epoch', d.available_at) * 1000000::pg_catalog.float8)::bigint::pg_catalog.text
                    when d.available_at < '2200-01-01Z'
                        then (extract(epoch from d.available_at) * 1000000::numeric)::bigint::pg_catalog.text
                    else ''
                end || d.id::pg_catalog.text
            ) collate pg_catalog."default",
            coalesce(d.delayed_until, d.added)::timestamp,
            d.expires::timestamp, coalesce(d.received, '{}'),
            mbus4_hstore.hstore(
                pg_catalog.array_cat(
                    array[
                        'source_db',
                        pg_catalog.current_database()::pg_catalog.text,
                        'destination_queue',
                        pg_catalog.lower((('orders')::pg_catalog.text) collate "C"),
                        'seenby',
                        array[pg_catalog.current_database()::pg_catalog.text]::pg_catalog.text,
                        'enqueue_time',
                        case
                            when pg_catalog.starts_with(pg_catalog.current_setting('datestyle'), 'ISO')
                                then d.added::timestamp::pg_catalog.text
                            else mbus4.time_text(d.added::timestamp)
                        end,
                        'destination',
                        pg_catalog.lower((('orders')::pg_catalog.text) collate "C")
                    ],
                    case
                        when pg_catalog.starts_with(pg_catalog.lower((('orders')::pg_catalog.text) collate "C"), 'temp.')
                            then array['tempq', pg_catalog.lower((('orders')::pg_catalog.text) collate "C")]
                    end
                )
            )
                operator(mbus4_hstore.||) coalesce(
                    d.headers
                        operator(mbus4_hstore.||) case
                            when d.consumer_id = 1 and mbus4_hstore.exist(d.headers, 'destination') then ''
                            else mbus4_hstore.hstore(
                                pg_catalog.array_cat(
                                    array['destination', pg_catalog.lower((('orders')::pg_catalog.text) collate "C")],
                                    case
                                        when pg_catalog.starts_with(
                                            pg_catalog.lower((('orders')::pg_catalog.text) collate "C"), 'temp.'
                                        )
                                            then array['tempq', pg_catalog.lower((('orders')::pg_catalog.text) collate "C")]
                                    end
                                )
                            )
                        end,
                    ''
                ),
            d.properties, d.data
        )::mbus4.qt_model as consume
    from mbus4_call1_taken d
)
select *
from (select (m.r).* from (select "consume" as r from mbus4_call1) m) as "consume";
