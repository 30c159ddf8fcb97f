select mbus4.take('orders.app.1')
----
-- for a database without messages that wait for others; --admin names one to look at
-- line 1, column 8: mbus4.take(msgid text, wait interval default null) returns mbus4.qt_model
--   inline, by WITH queries
-- sent again and again, it is run by a statement that is prepared in the session, in which these literals are parameters: 'orders.app.1'
-- the server gets:
with mbus4_call1_args(n, "msgid") as (select 1::bigint, ('orders.app.1')::pg_catalog.text),
mbus4_call1_place as materialized (select p.* from mbus4_call1_args a cross join lateral mbus4.places_of_iid(a.msgid) p),
mbus4_call1_taken_by_iid as (
    delete from mbus4.message m
    where m.iid = (select a.msgid from mbus4_call1_args a)
        and (select c.qname from mbus4.consumer c where c.id = m.consumer_id offset 0) is not null
        and (
            m.expires is null
                or m.expires > pg_catalog.clock_timestamp()
                or m.consumer_id = 1
                or not (
                    not (
                        m.available_at > pg_catalog.clock_timestamp()
                            and m.available_at < 'infinity'
                            and mbus4.is_leased(m.available_at, m.delayed_until, m.headers)
                    )
                )
        )
    returning (select c.qname from mbus4.consumer c where c.id = m.consumer_id offset 0) as queue, m.*
),
mbus4_call1_taken_by_place as (
    delete from mbus4.message m
    where m.consumer_id = any(array(select c.id from mbus4_call1_place p join mbus4.consumer c on c.qname = p.queue))
        and m.available_at = (select p.available_at from mbus4_call1_place p)
        and m.id = (select p.id from mbus4_call1_place p)
        and m.iid is null
        and (
            m.expires is null
                or m.expires > pg_catalog.clock_timestamp()
                or m.consumer_id = 1
                or not (
                    not (
                        m.available_at > pg_catalog.clock_timestamp()
                            and m.available_at < 'infinity'
                            and mbus4.is_leased(m.available_at, m.delayed_until, m.headers)
                    )
                )
        )
    returning (select p.queue from mbus4_call1_place p) as queue,
        m.id, m.consumer_id, m.available_at, m.added,
        (select a.msgid from mbus4_call1_args a) as iid,
        m.delayed_until, m.expires, m.received, m.headers, m.properties, m.data, m.after
),
mbus4_call1_taken as (select * from mbus4_call1_taken_by_iid union all select * from mbus4_call1_taken_by_place),
mbus4_call1 as (
    select a.n,
        (
            select row(
                d.id, d.added::timestamp,
                coalesce(
                    d.iid,
                    d.queue || '.' || pg_catalog.current_database()::pg_catalog.text || '.' || case
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
                            'destination_queue', d.queue, 'seenby',
                            array[pg_catalog.current_database()::pg_catalog.text]::pg_catalog.text,
                            'enqueue_time',
                            case
                                when pg_catalog.starts_with(pg_catalog.current_setting('datestyle'), 'ISO')
                                    then d.added::timestamp::pg_catalog.text
                                else mbus4.time_text(d.added::timestamp)
                            end,
                            'destination', d.queue
                        ],
                        case when pg_catalog.starts_with(d.queue, 'temp.') then array['tempq', d.queue] end
                    )
                )
                    operator(mbus4_hstore.||) coalesce(
                        d.headers
                            operator(mbus4_hstore.||) case
                                when d.consumer_id = 1 and mbus4_hstore.exist(d.headers, 'destination') then ''
                                else mbus4_hstore.hstore(
                                    pg_catalog.array_cat(
                                        array['destination', d.queue],
                                        case when pg_catalog.starts_with(d.queue, 'temp.') then array['tempq', d.queue] end
                                    )
                                )
                            end,
                        ''
                    ),
                d.properties, d.data
            )::mbus4.qt_model
            from mbus4_call1_taken d
            order by d.id, d.consumer_id
            limit 1
        ) as take
    from mbus4_call1_args a
)
select (select "take" as "take" from mbus4_call1)::mbus4.qt_model;
