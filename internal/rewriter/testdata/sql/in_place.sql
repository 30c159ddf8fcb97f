# In a place where only the server knows whether and how often a call runs, a function does the work.
select id, case when big then mbus4.post('orders', 'id=>1') end from orders
----
select id,
    case
        when big
            then mbus4.at_post_4ea59196(
                ('orders')::pg_catalog.text,
                (row('id=>1')::mbus4_hstore.given).value,
                null::mbus4_hstore.hstore, null::timestamp without time zone, null::timestamp without time zone,
                '1 _session_secret_'
            )
    end
from orders;
-- where there is in the database:
create or replace function mbus4.at_post_4ea59196(
    pg_catalog.text, mbus4_hstore.hstore, mbus4_hstore.hstore, timestamp without time zone, timestamp without time zone,
    pg_catalog.text
) returns pg_catalog.text language sql volatile
set jit = off as '
    with mbus4_call_args (n, "qname", "data", "properties", "delayed_until", "expires") as (select 1::bigint, $1, $2, $3, $4, $5),
    mbus4_call_posted as materialized (
        select w.*, case when w.delayed_until > w.added and w.queue <> ''dmq'' then w.delayed_until else w.added end as at
        from (
            select a.n,
                case
                    when pg_catalog.pg_try_advisory_xact_lock_shared(
                        1835169140, pg_catalog.hashtext(pg_catalog.lower(a.qname collate "C")) & 63
                    )
                        then pg_catalog.nextval(''mbus4.post_id'')
                    when pg_catalog.nextval(''mbus4.message_id'') > 0 then pg_catalog.nextval(''mbus4.post_id'')
                end as id,
                pg_catalog.clock_timestamp() as added,
                pg_catalog.lower(a.qname collate "C") as queue,
                a.delayed_until::pg_catalog.timestamptz as delayed_until,
                a.expires::pg_catalog.timestamptz as expires,
                a.properties, a.data as data
            from mbus4_call_args a
            offset 0
        ) w
    ),
    mbus4_call_stored as (
        insert into mbus4.message (id, consumer_id, available_at, added, iid, delayed_until, expires, properties, data)
        select p.id, consumer_id, p.at, p.added,
            case
                when case when p.delayed_until > p.added and p.queue <> ''dmq'' then p.delayed_until else p.added end >= ''2200-01-01Z''
                    then p.queue || ''.'' || pg_catalog.current_database()::pg_catalog.text || ''.'' || p.id::pg_catalog.text
            end,
            p.delayed_until, p.expires, p.properties, p.data
        from mbus4_call_posted p
        left join lateral (
            select c.id as consumer_id, case when c.selector_id is not null or c.target is not null then c end as rest
            from mbus4.consumer c
            where c.qname = p.queue
            offset 0
        ) c on true
        where coalesce(
            case
                when consumer_id is not null
                    then rest is null
                    or case
                        when (rest).target is null
                            and not (rest).general
                            then mbus4.has_asked(rest, p.queue, p.added, null, p.properties, p.data) is true
                        else mbus4.receives(
                            rest, p.queue, p.id, p.added, null, p.delayed_until, p.expires, null, p.properties, p.data, null, false,
                            null
                        )
                    end
            end,
            mbus4.at_post_given_361e6977(
                ''''||$6||'''', p.queue, p.id, p.added, null, p.delayed_until, p.expires, null, p.properties, p.data, null, false
            ) is null
        )
    ),
    mbus4_call as (
        select p.n,
            p.queue || ''.'' || pg_catalog.current_database()::pg_catalog.text || ''.'' || case
                when p.at < ''2038-01-01Z''
                    then (pg_catalog.date_part(''epoch'', p.at) * 1000000::pg_catalog.float8)::bigint::pg_catalog.text
                when p.at < ''2200-01-01Z'' then (extract(epoch from p.at) * 1000000::numeric)::bigint::pg_catalog.text
                else ''''
            end || p.id::pg_catalog.text as post
        from mbus4_call_posted p
    )
    select mbus4_call."post"
    from mbus4_call
'

# Consuming, and waking what waits: messages wait for others.
select (select iid from mbus4.consume(q.name) limit 1) from queues q
----
select (
    select iid
    from mbus4.at_consume_waking_9d1de3f8((q.name)::pg_catalog.text, 'default'::pg_catalog.text, '1 _session_secret_') as "consume"
    limit 1
)
from queues q;
-- where there is in the database:
create or replace function mbus4.at_consume_waking_9d1de3f8(pg_catalog.text, pg_catalog.text, pg_catalog.text) returns setof mbus4.qt_model language sql volatile rows 1
set jit = off as '
    with mbus4_call_args (n, "qname", "cname") as (select 1::bigint, $1, $2),
    mbus4_call_taken as (
        delete from mbus4.message m
        where m.ctid = any(
            array(
                select x.ctid
                from (
                    select c.id >> 12 as id, c.amt, c.now,
                        pg_catalog.to_timestamp(
                            coalesce(
                                pg_catalog.pg_sequence_last_value(
                                    (''mbus4.hint_'' || ((c.id & 4095::bigint))::pg_catalog.text)::pg_catalog.regclass
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
                            mbus4.at_no_consumer_56bdd364(''''||$3||'''', a.qname, a.cname)
                        ) as id,
                            1 as amt, pg_catalog.clock_timestamp() as now
                        from mbus4_call_args a
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
                pg_catalog.lower(($1) collate "C") || ''.'' || pg_catalog.current_database()::pg_catalog.text || ''.'' || case
                    when m.available_at < ''2038-01-01Z''
                        then (pg_catalog.date_part(''epoch'', m.available_at) * 1000000::pg_catalog.float8)::bigint::pg_catalog.text
                    when m.available_at < ''2200-01-01Z''
                        then (extract(epoch from m.available_at) * 1000000::numeric)::bigint::pg_catalog.text
                    else ''''
                end || m.id::pg_catalog.text
            ) as iid,
            case
                when (
                    select 1
                    from mbus4.waiting g
                    where g.dep = coalesce(
                        m.iid,
                        pg_catalog.lower(($1) collate "C") || ''.'' || pg_catalog.current_database()::pg_catalog.text || ''.'' || case
                            when m.available_at < ''2038-01-01Z''
                                then (pg_catalog.date_part(''epoch'', m.available_at) * 1000000::pg_catalog.float8)::bigint::pg_catalog.text
                            when m.available_at < ''2200-01-01Z''
                                then (extract(epoch from m.available_at) * 1000000::numeric)::bigint::pg_catalog.text
                            else ''''
                        end || m.id::pg_catalog.text
                    )
                    order by g.dep, g.consumer_id, g.id
                    limit 1
                ) is not null
                    then mbus4.wake(
                        coalesce(
                            m.iid,
                            pg_catalog.lower(($1) collate "C") || ''.'' || pg_catalog.current_database()::pg_catalog.text || ''.'' || case
                                when m.available_at < ''2038-01-01Z''
                                    then (pg_catalog.date_part(''epoch'', m.available_at) * 1000000::pg_catalog.float8)::bigint::pg_catalog.text
                                when m.available_at < ''2200-01-01Z''
                                    then (extract(epoch from m.available_at) * 1000000::numeric)::bigint::pg_catalog.text
                                else ''''
                            end || m.id::pg_catalog.text
                        )
                    )
            end as woken
    ),
    mbus4_call as (
        select 1::bigint as n,
            row(
                d.id, d.added::timestamp,
                coalesce(
                    d.iid,
                    pg_catalog.lower(($1) collate "C") || ''.'' || pg_catalog.current_database()::pg_catalog.text || ''.'' || case
                        when d.available_at < ''2038-01-01Z''
                            then (pg_catalog.date_part(''epoch'', d.available_at) * 1000000::pg_catalog.float8)::bigint::pg_catalog.text
                        when d.available_at < ''2200-01-01Z''
                            then (extract(epoch from d.available_at) * 1000000::numeric)::bigint::pg_catalog.text
                        else ''''
                    end || d.id::pg_catalog.text
                ) collate pg_catalog."default",
                coalesce(d.delayed_until, d.added)::timestamp,
                d.expires::timestamp, coalesce(d.received, ''{}''),
                mbus4_hstore.hstore(
                    pg_catalog.array_cat(
                        array[
                            ''source_db'',
                            pg_catalog.current_database()::pg_catalog.text,
                            ''destination_queue'', pg_catalog.lower(($1) collate "C"), ''seenby'',
                            array[pg_catalog.current_database()::pg_catalog.text]::pg_catalog.text,
                            ''enqueue_time'',
                            case
                                when pg_catalog.starts_with(pg_catalog.current_setting(''datestyle''), ''ISO'')
                                    then d.added::timestamp::pg_catalog.text
                                else mbus4.time_text(d.added::timestamp)
                            end,
                            ''destination'', pg_catalog.lower(($1) collate "C")
                        ],
                        case
                            when pg_catalog.starts_with(pg_catalog.lower(($1) collate "C"), ''temp.'')
                                then array[''tempq'', pg_catalog.lower(($1) collate "C")]
                        end
                    )
                )
                    operator(mbus4_hstore.||) coalesce(
                        d.headers
                            operator(mbus4_hstore.||) case
                                when d.consumer_id = 1 and mbus4_hstore.exist(d.headers, ''destination'') then ''''
                                else mbus4_hstore.hstore(
                                    pg_catalog.array_cat(
                                        array[''destination'', pg_catalog.lower(($1) collate "C")],
                                        case
                                            when pg_catalog.starts_with(pg_catalog.lower(($1) collate "C"), ''temp.'')
                                                then array[''tempq'', pg_catalog.lower(($1) collate "C")]
                                        end
                                    )
                                )
                            end,
                        ''''
                    ),
                d.properties, d.data
            )::mbus4.qt_model as consume
        from mbus4_call_taken d
    )
    select (mbus4_call."consume").*
    from mbus4_call
'
