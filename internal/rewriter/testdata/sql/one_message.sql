# By its iid, for everybody.
select * from mbus4.take('orders.db.1')
----
with mbus4_call1_args(n, "msgid") as (select 1::bigint, ('orders.db.1')::pg_catalog.text),
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
select *
from pg_catalog.unnest(array[(select "take" as "take" from mbus4_call1)::mbus4.qt_model]) as "take"

# For one consumer.
select * from mbus4.take_from_orders_by_audit('orders.db.1')
----
with mbus4_call1_args(n, "qname", "cname", "msgid") as (
    select 1::bigint, ('orders')::pg_catalog.text, ('audit')::pg_catalog.text, ('orders.db.1')::pg_catalog.text
),
mbus4_call1_consumer as materialized (
    select a.n, a.msgid as msgid, c.qname as queue,
        coalesce(c.id, mbus4.at_no_consumer_56bdd364('1 _session_secret_', a.qname, a.cname)) as id
    from mbus4_call1_args a
    left join mbus4.consumer c on c.qname = pg_catalog.lower(a.qname collate "C")
        and c.name = pg_catalog.lower(a.cname collate "C")
),
mbus4_call1_place as materialized (
    select p.available_at, p.id
    from mbus4_call1_consumer k
    cross join lateral mbus4.places_of_iid(k.msgid) p
    where p.queue = k.queue
),
mbus4_call1_taken_by_iid as (
    delete from mbus4.message m
    where m.iid is not null
        and (m.iid, m.consumer_id) between (
            (select k.msgid from mbus4_call1_consumer k), (select k.id from mbus4_call1_consumer k)
        ) and ((select k.msgid from mbus4_call1_consumer k), (select k.id from mbus4_call1_consumer k))
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
    returning m.*
),
mbus4_call1_taken_by_place as (
    delete from mbus4.message m
    where m.consumer_id = (select k.id from mbus4_call1_consumer k)
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
    returning m.id, m.consumer_id, m.available_at, m.added,
        (select k.msgid from mbus4_call1_consumer k) as iid,
        m.delayed_until, m.expires, m.received, m.headers, m.properties, m.data, m.after
),
mbus4_call1_taken as (select * from mbus4_call1_taken_by_iid union all select * from mbus4_call1_taken_by_place),
mbus4_call1_enforced as (
    insert into mbus4.waiting (dep, consumer_id, id)
    select null, k.id, null
    from mbus4_call1_consumer k
    where pg_catalog.num_nulls(k.n) > 0
),
mbus4_call1 as (
    select k.n,
        case
            when d.id is not null
                then row(
                    d.id, d.added::timestamp,
                    coalesce(
                        d.iid,
                        k.queue || '.' || pg_catalog.current_database()::pg_catalog.text || '.' || case
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
                                'destination_queue', k.queue, 'seenby',
                                array[pg_catalog.current_database()::pg_catalog.text]::pg_catalog.text,
                                'enqueue_time',
                                case
                                    when pg_catalog.starts_with(pg_catalog.current_setting('datestyle'), 'ISO')
                                        then d.added::timestamp::pg_catalog.text
                                    else mbus4.time_text(d.added::timestamp)
                                end,
                                'destination', k.queue
                            ],
                            case when pg_catalog.starts_with(k.queue, 'temp.') then array['tempq', k.queue] end
                        )
                    )
                        operator(mbus4_hstore.||) coalesce(
                            d.headers
                                operator(mbus4_hstore.||) case
                                    when d.consumer_id = 1 and mbus4_hstore.exist(d.headers, 'destination') then ''
                                    else mbus4_hstore.hstore(
                                        pg_catalog.array_cat(
                                            array['destination', k.queue],
                                            case when pg_catalog.starts_with(k.queue, 'temp.') then array['tempq', k.queue] end
                                        )
                                    )
                                end,
                            ''
                        ),
                    d.properties, d.data
                )::mbus4.qt_model
        end as take_from
    from mbus4_call1_consumer k
    left join mbus4_call1_taken d on true
)
select *
from pg_catalog.unnest(array[(select "take_from" as "take_from_orders_by_audit" from mbus4_call1)::mbus4.qt_model]) as "take_from_orders_by_audit";
-- where there is in the database:
create or replace function mbus4.at_no_consumer_56bdd364(call text, qname text, cname text) returns int language sql volatile as $mbus4$
 select (
     case
         when exists (select from mbus4.queue q where q.qname = pg_catalog.lower($2 collate "C"))
             then pg_catalog.left(
                 pg_catalog.format(
                     'mbus4-error '||$1||' 42704 queue "%s" has no consumer %s', $2, coalesce('"' || $3 || '"', 'null')
                 ),
                 2000
             )
         else pg_catalog.left(
             pg_catalog.format('mbus4-error '||$1||' 42704 queue %s does not exist', coalesce('"' || $2 || '"', 'null')), 2000
         )
     end
 )::int
$mbus4$

# Looked at.
select mbus4.peek('orders.db.1'), mbus4.is_msg_exists($1)
----
select (
    select (
        select row(
            m.id, m.added::timestamp,
            coalesce(
                m.iid,
                c.qname || '.' || pg_catalog.current_database()::pg_catalog.text || '.' || case
                    when m.available_at < '2038-01-01Z'
                        then (pg_catalog.date_part('epoch', m.available_at) * 1000000::pg_catalog.float8)::bigint::pg_catalog.text
                    when m.available_at < '2200-01-01Z'
                        then (extract(epoch from m.available_at) * 1000000::numeric)::bigint::pg_catalog.text
                    else ''
                end || m.id::pg_catalog.text
            ) collate pg_catalog."default",
            coalesce(m.delayed_until, m.added)::timestamp,
            m.expires::timestamp, coalesce(m.received, '{}'),
            mbus4_hstore.hstore(
                pg_catalog.array_cat(
                    array[
                        'source_db',
                        pg_catalog.current_database()::pg_catalog.text,
                        'destination_queue', c.qname, 'seenby',
                        array[pg_catalog.current_database()::pg_catalog.text]::pg_catalog.text,
                        'enqueue_time',
                        case
                            when pg_catalog.starts_with(pg_catalog.current_setting('datestyle'), 'ISO')
                                then m.added::timestamp::pg_catalog.text
                            else mbus4.time_text(m.added::timestamp)
                        end,
                        'destination', c.qname
                    ],
                    case when pg_catalog.starts_with(c.qname, 'temp.') then array['tempq', c.qname] end
                )
            )
                operator(mbus4_hstore.||) coalesce(
                    m.headers
                        operator(mbus4_hstore.||) case
                            when m.consumer_id = 1 and mbus4_hstore.exist(m.headers, 'destination') then ''
                            else mbus4_hstore.hstore(
                                pg_catalog.array_cat(
                                    array['destination', c.qname],
                                    case when pg_catalog.starts_with(c.qname, 'temp.') then array['tempq', c.qname] end
                                )
                            )
                        end,
                    ''
                ),
            m.properties, m.data
        )::mbus4.qt_model
        from mbus4.undelivered(a.msgid) m
        join mbus4.consumer c on c.id = m.consumer_id
        order by m.id, m.consumer_id
        limit 1
    ) as "peek"
    from (select ('orders.db.1')::pg_catalog.text as msgid) a
)::mbus4.qt_model,
    (
        select exists (select from pg_catalog.unnest(array[a.msgid]) i (iid) cross join lateral mbus4.undelivered(i.iid)) as "is_msg_exists"
        from (select ($1)::pg_catalog.text as msgid) a
    )

# Looked for.
select mbus4.peek_orders()
----
select (
    select case
        when not exists (select from mbus4.queue q where q.qname = a.qname)
            then pg_catalog.left(
                pg_catalog.format('mbus4-error 1 _session_secret_ 42704 queue "%s" does not exist', a.qname), 2000
            )::int = 0
        when a.msgid is not null
            then exists (
                select from mbus4.undelivered(a.msgid) m join mbus4.consumer c on c.id = m.consumer_id where c.qname = a.qname
            )
        else exists (
            select
            from mbus4.consumer c
            cross join lateral (
                select
                from mbus4.message m
                where m.consumer_id = c.id
                    and m.available_at >= (
                        select pg_catalog.to_timestamp(
                            coalesce(
                                pg_catalog.pg_sequence_last_value(
                                    ('mbus4.hint_' || (coalesce(c.hint, c.id % 128::bigint))::pg_catalog.text)::pg_catalog.regclass
                                ),
                                0
                            )::pg_catalog.float8 / 1000000.0::pg_catalog.float8
                        )
                    )
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
                order by m.available_at
                limit 1
            ) m
            where c.qname = a.qname
        )
    end as "peek_orders"
    from (select pg_catalog.lower(('orders')::pg_catalog.text collate "C") as qname, null::pg_catalog.text as msgid) a
)

# A new iid.
select mbus4.get_iid('orders')
----
select (
    pg_catalog.translate(('orders')::pg_catalog.text, 'ABCDEFGHIJKLMNOPQRSTUVWXYZ', 'abcdefghijklmnopqrstuvwxyz') || (
        '.' || pg_catalog.current_database()::pg_catalog.text || '.'
    ) || pg_catalog.nextval('mbus4.post_id')::pg_catalog.text
) as "get_iid"
