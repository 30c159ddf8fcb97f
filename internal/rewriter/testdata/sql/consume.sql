# At most one message.
select * from mbus4.consume('orders')
----
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

# In the target list.
select mbus4.consume('orders', $1)
----
with mbus4_call1_args(n, "qname", "cname") as (select 1::bigint, ('orders')::pg_catalog.text, ($1)::pg_catalog.text),
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
select pg_catalog.unnest(array(select "consume" from mbus4_call1)) as "consume";
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

# Where messages wait for others, taking one wakes what waited for it.
select * from mbus4.consume('orders')
----
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
        m.data,
        coalesce(
            m.iid,
            pg_catalog.lower((('orders')::pg_catalog.text) collate "C") || '.' || pg_catalog.current_database()::pg_catalog.text || '.' || case
                when m.available_at < '2038-01-01Z'
                    then (pg_catalog.date_part('epoch', m.available_at) * 1000000::pg_catalog.float8)::bigint::pg_catalog.text
                when m.available_at < '2200-01-01Z'
                    then (extract(epoch from m.available_at) * 1000000::numeric)::bigint::pg_catalog.text
                else ''
            end || m.id::pg_catalog.text
        ) as iid,
        case
            when (
                select 1
                from mbus4.waiting g
                where g.dep = coalesce(
                    m.iid,
                    pg_catalog.lower((('orders')::pg_catalog.text) collate "C") || '.' || pg_catalog.current_database()::pg_catalog.text || '.' || case
                        when m.available_at < '2038-01-01Z'
                            then (pg_catalog.date_part('epoch', m.available_at) * 1000000::pg_catalog.float8)::bigint::pg_catalog.text
                        when m.available_at < '2200-01-01Z'
                            then (extract(epoch from m.available_at) * 1000000::numeric)::bigint::pg_catalog.text
                        else ''
                    end || m.id::pg_catalog.text
                )
                order by g.dep, g.consumer_id, g.id
                limit 1
            ) is not null
                then mbus4.wake(
                    coalesce(
                        m.iid,
                        pg_catalog.lower((('orders')::pg_catalog.text) collate "C") || '.' || pg_catalog.current_database()::pg_catalog.text || '.' || case
                            when m.available_at < '2038-01-01Z'
                                then (pg_catalog.date_part('epoch', m.available_at) * 1000000::pg_catalog.float8)::bigint::pg_catalog.text
                            when m.available_at < '2200-01-01Z'
                                then (extract(epoch from m.available_at) * 1000000::numeric)::bigint::pg_catalog.text
                            else ''
                        end || m.id::pg_catalog.text
                    )
                )
        end as woken
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

# At most ten.
select iid, data from mbus4.consumen_orders_by_audit(10)
----
with mbus4_call1_args(n, "qname", "cname", "amt") as (
    select 1::bigint, ('orders')::pg_catalog.text, ('audit')::pg_catalog.text, (10)::integer
),
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
                        case
                            when a.amt < 0
                                then pg_catalog.left(
                                    pg_catalog.format(
                                        'mbus4-error 1 _session_secret_ 2201W the number of messages must not be negative, but it is %s',
                                        a.amt
                                    ),
                                    2000
                                )::int
                            else a.amt
                        end as amt,
                        pg_catalog.clock_timestamp() as now
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
        )::mbus4.qt_model as consumen
    from (select * from mbus4_call1_taken d order by d.available_at, d.id offset 0) d
)
select iid, data
from (select (m.r).* from (select "consumen" as r from mbus4_call1) m) as "consumen_orders_by_audit";
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

# For each row of a set.
select q.name, mbus4.consume(q.name) from queues q
----
with mbus4_rows1 as materialized (
    select pg_catalog.row_number() over () as n, s.*
    from (select q.name, null, (q.name)::pg_catalog.text from queues q) as s(h1, h2, h3)
),
mbus4_call1_args(n, "qname", "cname") as (select mbus4_rows1.n, mbus4_rows1.h3, 'default'::pg_catalog.text from mbus4_rows1),
mbus4_call1_consumer as materialized (
    select a.n, 1 as amt, c.qname as queue,
        coalesce(
            (case when c.paused is null then c.id else -c.id end),
            mbus4.at_no_consumer_56bdd364('1 _session_secret_', a.qname, a.cname)
        ) as id,
        coalesce(c.hint, c.id % 128::bigint) as hint
    from mbus4_call1_args a
    left join lateral (
        select *
        from mbus4.consumer c
        where c.qname = pg_catalog.lower(a.qname collate "C") and c.name = pg_catalog.lower(a.cname collate "C")
        offset 0
    ) c on true
),
mbus4_call1_wanted as materialized (
    select k.id, k.queue, pg_catalog.sum(k.amt)::bigint as amt, pg_catalog.clock_timestamp() as now,
        pg_catalog.to_timestamp(
            coalesce(pg_catalog.pg_sequence_last_value(('mbus4.hint_' || (k.hint)::pg_catalog.text)::pg_catalog.regclass), 0)::pg_catalog.float8 / 1000000.0::pg_catalog.float8
        ) as low
    from mbus4_call1_consumer k
    group by k.id, k.queue, k.hint
),
mbus4_call1_chosen as materialized (
    select x.tid
    from mbus4_call1_wanted t
    cross join lateral (
        select m.ctid as tid
        from mbus4.message m
        where m.consumer_id = t.id
            and (m.available_at, m.id) >= (t.low, 0)
            and m.available_at <= t.now
            and (
                case
                    when m.expires <= t.now and m.consumer_id <> 1 then null
                    when m.after is not null and mbus4.awaits_delivery(m.after) then null
                    else 0
                end
            ) is not null
        order by m.available_at, m.id
        limit t.amt
        for update skip locked
    ) x
),
mbus4_call1_taken as (
    delete from mbus4.message m
    where m.ctid = any(array(select s.tid from mbus4_call1_chosen s))
    returning m.id, m.consumer_id, m.available_at, m.added, m.delayed_until, m.expires, m.received, m.headers, m.properties,
        m.data,
        coalesce(
            m.iid,
            (select t.queue from mbus4_call1_wanted t where t.id = m.consumer_id) || '.' || pg_catalog.current_database()::pg_catalog.text || '.' || case
                when m.available_at < '2038-01-01Z'
                    then (pg_catalog.date_part('epoch', m.available_at) * 1000000::pg_catalog.float8)::bigint::pg_catalog.text
                when m.available_at < '2200-01-01Z'
                    then (extract(epoch from m.available_at) * 1000000::numeric)::bigint::pg_catalog.text
                else ''
            end || m.id::pg_catalog.text
        ) as iid
),
mbus4_call1_placed as (
    select d.*, pg_catalog.row_number() over (partition by d.consumer_id order by d.available_at, d.id) as place
    from mbus4_call1_taken d
),
mbus4_call1 as (
    select r.n,
        row(
            d.id, d.added::timestamp,
            coalesce(
                d.iid,
                r.queue || '.' || pg_catalog.current_database()::pg_catalog.text || '.' || case
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
                        'destination_queue', r.queue, 'seenby',
                        array[pg_catalog.current_database()::pg_catalog.text]::pg_catalog.text,
                        'enqueue_time',
                        case
                            when pg_catalog.starts_with(pg_catalog.current_setting('datestyle'), 'ISO')
                                then d.added::timestamp::pg_catalog.text
                            else mbus4.time_text(d.added::timestamp)
                        end,
                        'destination', r.queue
                    ],
                    case when pg_catalog.starts_with(r.queue, 'temp.') then array['tempq', r.queue] end
                )
            )
                operator(mbus4_hstore.||) coalesce(
                    d.headers
                        operator(mbus4_hstore.||) case
                            when d.consumer_id = 1 and mbus4_hstore.exist(d.headers, 'destination') then ''
                            else mbus4_hstore.hstore(
                                pg_catalog.array_cat(
                                    array['destination', r.queue],
                                    case when pg_catalog.starts_with(r.queue, 'temp.') then array['tempq', r.queue] end
                                )
                            )
                        end,
                    ''
                ),
            d.properties, d.data
        )::mbus4.qt_model as consume,
        d.place as o
    from (
        select k.n, k.id, k.queue, k.amt, pg_catalog.sum(k.amt) over (partition by k.id order by k.n) as upto
        from mbus4_call1_consumer k
    ) r
    join mbus4_call1_placed d on d.consumer_id = r.id and d.place > r.upto - r.amt and d.place <= r.upto
    order by r.n, d.place
)
select mbus4_rows1.h1 as "name", mbus4_call1."consume" as "consume"
from mbus4_rows1
join mbus4_call1 on mbus4_call1.n = mbus4_rows1.n
order by mbus4_rows1.n, mbus4_call1.o;
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
