# One message, and several.
select iid, data, lease from mbus4.lease('orders')
----
with mbus4_call1_args(n, "qname", "cname", "amt", "lease") as (
    select 1::bigint, ('orders')::pg_catalog.text, 'default'::pg_catalog.text, '1'::integer, null::pg_catalog.interval
),
mbus4_call1_leased as (
    update mbus4.message m
    set available_at = pg_catalog.clock_timestamp() + (
        select coalesce(c.lease, interval '30 seconds') from mbus4.consumer c where c.id = m.consumer_id
    ),
        iid = coalesce(
            m.iid,
            pg_catalog.concat(
                pg_catalog.lower((('orders')::pg_catalog.text) collate "C"),
                '.', pg_catalog.current_database(), '.',
                (pg_catalog.date_part('epoch', m.available_at) * 1000000::pg_catalog.float8)::bigint,
                m.id
            )
        ),
        headers = case
            when m.headers is null
                then mbus4_hstore.hstore(
                    pg_catalog.array_replace(
                        '{retry.first,now,retry.attempt,1,retry.last,now}'::pg_catalog.text[],
                        'now'::pg_catalog.text,
                        pg_catalog.to_char(pg_catalog.clock_timestamp(), 'YYYY-MM-DD HH24:MI:SS.US')
                    )
                )
            else m.headers
                operator(mbus4_hstore.||) mbus4_hstore.hstore(
                    pg_catalog.array_replace(
                        array[
                            'retry.attempt',
                            (
                                1 + case
                                    when m.headers
                                        operator(mbus4_hstore.->) 'retry.attempt'::pg_catalog.text
                                        operator(pg_catalog.~) '^[0-9]{1,8}$'
                                        then (m.headers operator(mbus4_hstore.->) 'retry.attempt'::pg_catalog.text)::int
                                    else 0
                                end
                            )::pg_catalog.text,
                            'retry.last', 'now'
                        ]
                            operator(pg_catalog.||) case
                                when mbus4_hstore.exist(m.headers, 'retry.first') then null
                                else '{retry.first,now}'::pg_catalog.text[]
                            end,
                        'now'::pg_catalog.text,
                        pg_catalog.to_char(pg_catalog.clock_timestamp(), 'YYYY-MM-DD HH24:MI:SS.US')
                    )
                )
        end
    where m.ctid = (
        select x.ctid
        from (
            select case
                when c.ctid is null then mbus4.at_no_consumer_56bdd364('1 _session_secret_', a.qname, a.cname)
                else (case when c.paused is null then c.id else -c.id end)
            end as id,
                coalesce(c.max_attempts, 10) as most,
                pg_catalog.to_timestamp(
                    coalesce(
                        pg_catalog.pg_sequence_last_value(
                            ('mbus4.hint_' || (coalesce(c.hint, c.id % 128::bigint))::pg_catalog.text)::pg_catalog.regclass
                        ),
                        0
                    )::pg_catalog.float8 / 1000000.0::pg_catalog.float8
                ) as low,
                pg_catalog.clock_timestamp() as now
            from mbus4_call1_args a
            left join mbus4.consumer c on c.qname = pg_catalog.lower(a.qname collate "C")
                and c.name = pg_catalog.lower(a.cname collate "C")
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
                        when (
                            case
                                when x.expires <= k.now and x.consumer_id <> 1 then null
                                when x.after is not null and mbus4.awaits_delivery(x.after) then null
                                else 0
                            end
                        ) is not null
                            then case
                                when x.headers is null or x.consumer_id = 1 then 0
                                when case
                                    when x.headers
                                        operator(mbus4_hstore.->) 'retry.attempt'::pg_catalog.text
                                        operator(pg_catalog.~) '^[0-9]{1,8}$'
                                        then (x.headers operator(mbus4_hstore.->) 'retry.attempt'::pg_catalog.text)::int
                                    else 0
                                end < k.most
                                    then 0
                                when mbus4.at_spent_f59931fe('1 _session_secret_', x.consumer_id, x.available_at, x.id, null)
                                    then null
                            end
                    end
                ) is not null
            order by x.available_at, x.id
            limit 1
            for update skip locked
        ) x
    )
    returning m.id, m.consumer_id, m.available_at, m.headers, m.data, m.iid
),
mbus4_call1 as (
    select 1::bigint as n,
        row(
            null, null, d.iid collate pg_catalog."default", null, null, null, null, null, d.data, null, null,
            pg_catalog.concat_ws(
                '.', d.consumer_id, d.id,
                d.headers operator(mbus4_hstore.->) 'retry.attempt'::pg_catalog.text,
                (pg_catalog.date_part('epoch', d.available_at) * 1000000::pg_catalog.float8)::bigint
            ),
            null
        )::mbus4.leased as lease
    from mbus4_call1_leased d
)
select iid, data, lease
from (select (m.r).* from (select "lease" as r from mbus4_call1) m) as "lease";
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
$mbus4$;
-- where there is in the database:
create or replace function mbus4.at_spent_f59931fe(call text, consumer_id bigint, available_at timestamptz, id bigint, error text) returns boolean language sql volatile
set enable_seqscan = off
set enable_bitmapscan = off
set enable_hashjoin = off
set enable_mergejoin = off
set jit = off as $mbus4$
 with gone as (
     delete from mbus4.message m using (
         select c.qname, c.name, x.ctid as place
         from mbus4.consumer c
         cross join lateral (
             select x.ctid
             from mbus4.message x
             where x.consumer_id = c.id and x.available_at = $3 and x.id = $4
             for update skip locked
         ) x
         where c.id = $2
         offset 0
     ) c
     where m.ctid = c.place
     returning c.name,
         m.headers operator(mbus4_hstore.->) 'retry.error'::pg_catalog.text as error,
         row(
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
         )::mbus4.qt_model as message
 ),
 buried as materialized (select mbus4.at_bury_baee6485($1, g.message, g.name, coalesce($5, g.error, 'lease ended')) from gone g)
 select (select pg_catalog.count(*) from buried) > 0
$mbus4$

select * from mbus4.lease('orders', amt => 10, lease => '5 min')
----
with mbus4_call1_args(n, "qname", "cname", "amt", "lease") as (
    select 1::bigint, ('orders')::pg_catalog.text, 'default'::pg_catalog.text, (10)::integer, ('5 min')::pg_catalog.interval
),
mbus4_call1_consumer as materialized (
    select coalesce(
        (case when c.paused is null then c.id else -c.id end),
        mbus4.at_no_consumer_56bdd364('1 _session_secret_', a.qname, a.cname)
    ) as id,
        c.qname as queue,
        coalesce(c.hint, c.id % 128::bigint) as hint,
        case
            when a.amt < 0
                then pg_catalog.left(
                    pg_catalog.format(
                        'mbus4-error 1 _session_secret_ 2201W the number of messages must not be negative, but it is %s', a.amt
                    ),
                    2000
                )::int
            else a.amt
        end as amt,
        case
            when a.lease < interval '1 millisecond'
                or a.lease > interval '365 days'
                then pg_catalog.make_interval(
                    secs => pg_catalog.
                    left(
                        pg_catalog.format(
                            'mbus4-error 1 _session_secret_ 22023 a lease must last between 1 ms and 365 days, and not %s',
                            a.lease
                        ),
                        2000
                    )::int
                )
            else coalesce(a.lease, coalesce(c.lease, interval '30 seconds'))
        end as lease,
        coalesce(c.max_attempts, 10) as most, pg_catalog.clock_timestamp() as now,
        pg_catalog.to_char(pg_catalog.clock_timestamp(), 'YYYY-MM-DD HH24:MI:SS.US') as told
    from mbus4_call1_args a
    left join mbus4.consumer c on c.qname = pg_catalog.lower(a.qname collate "C")
        and c.name = pg_catalog.lower(a.cname collate "C")
    offset 0
),
mbus4_call1_leased as (
    update mbus4.message m
    set available_at = (select k.now + k.lease from mbus4_call1_consumer k),
        iid = coalesce(
            m.iid,
            (select k.queue from mbus4_call1_consumer k) || '.' || pg_catalog.current_database()::pg_catalog.text || '.' || case
                when m.available_at < '2038-01-01Z'
                    then (pg_catalog.date_part('epoch', m.available_at) * 1000000::pg_catalog.float8)::bigint::pg_catalog.text
                when m.available_at < '2200-01-01Z'
                    then (extract(epoch from m.available_at) * 1000000::numeric)::bigint::pg_catalog.text
                else ''
            end || m.id::pg_catalog.text
        ),
        headers = mbus4_hstore.hstore('retry.first'::pg_catalog.text, (select k.told from mbus4_call1_consumer k))
            operator(mbus4_hstore.||) coalesce(m.headers, '')
            operator(mbus4_hstore.||) mbus4_hstore.hstore(
                array[
                    'retry.attempt',
                    (
                        1 + case
                            when m.headers
                                operator(mbus4_hstore.->) 'retry.attempt'::pg_catalog.text
                                operator(pg_catalog.~) '^[0-9]{1,8}$'
                                then (m.headers operator(mbus4_hstore.->) 'retry.attempt'::pg_catalog.text)::int
                            else 0
                        end
                    )::pg_catalog.text,
                    'retry.last',
                    (select k.told from mbus4_call1_consumer k)
                ]
            )
    where m.ctid = any(
        array(
            select x.ctid
            from (
                select k.*,
                    pg_catalog.to_timestamp(
                        coalesce(
                            pg_catalog.pg_sequence_last_value(('mbus4.hint_' || (k.hint)::pg_catalog.text)::pg_catalog.regclass),
                            0
                        )::pg_catalog.float8 / 1000000.0::pg_catalog.float8
                    ) as low
                from mbus4_call1_consumer k
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
                            when (
                                case
                                    when x.expires <= k.now and x.consumer_id <> 1 then null
                                    when x.after is not null and mbus4.awaits_delivery(x.after) then null
                                    else 0
                                end
                            ) is not null
                                then case
                                    when x.headers is null or x.consumer_id = 1 then 0
                                    when case
                                        when x.headers
                                            operator(mbus4_hstore.->) 'retry.attempt'::pg_catalog.text
                                            operator(pg_catalog.~) '^[0-9]{1,8}$'
                                            then (x.headers operator(mbus4_hstore.->) 'retry.attempt'::pg_catalog.text)::int
                                        else 0
                                    end < k.most
                                        then 0
                                    when mbus4.at_spent_f59931fe('1 _session_secret_', x.consumer_id, x.available_at, x.id, null)
                                        then null
                                end
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
            d.id, d.added::timestamp, d.iid collate pg_catalog."default",
            coalesce(d.delayed_until, d.added)::timestamp,
            d.expires::timestamp, coalesce(d.received, '{}'),
            mbus4_hstore.hstore(
                pg_catalog.array_cat(
                    array[
                        'source_db',
                        pg_catalog.current_database()::pg_catalog.text,
                        'destination_queue',
                        (select k.queue from mbus4_call1_consumer k),
                        'seenby',
                        array[pg_catalog.current_database()::pg_catalog.text]::pg_catalog.text,
                        'enqueue_time',
                        case
                            when pg_catalog.starts_with(pg_catalog.current_setting('datestyle'), 'ISO')
                                then d.added::timestamp::pg_catalog.text
                            else mbus4.time_text(d.added::timestamp)
                        end,
                        'destination',
                        (select k.queue from mbus4_call1_consumer k)
                    ],
                    case
                        when pg_catalog.starts_with((select k.queue from mbus4_call1_consumer k), 'temp.')
                            then array['tempq', (select k.queue from mbus4_call1_consumer k)]
                    end
                )
            )
                operator(mbus4_hstore.||) coalesce(
                    d.headers
                        operator(mbus4_hstore.||) case
                            when d.consumer_id = 1 and mbus4_hstore.exist(d.headers, 'destination') then ''
                            else mbus4_hstore.hstore(
                                pg_catalog.array_cat(
                                    array['destination', (select k.queue from mbus4_call1_consumer k)],
                                    case
                                        when pg_catalog.starts_with((select k.queue from mbus4_call1_consumer k), 'temp.')
                                            then array['tempq', (select k.queue from mbus4_call1_consumer k)]
                                    end
                                )
                            )
                        end,
                    ''
                ),
            d.properties, d.data,
            case
                when mbus4_hstore.exist(d.headers, 'json.payload') then mbus4.payload(d.headers, d.data)
                else mbus4_hstore.hstore_to_jsonb(d.data)
            end,
            (d.headers operator(mbus4_hstore.->) 'retry.attempt'::pg_catalog.text)::int,
            pg_catalog.concat_ws(
                '.', d.consumer_id, d.id,
                d.headers operator(mbus4_hstore.->) 'retry.attempt'::pg_catalog.text,
                (pg_catalog.date_part('epoch', d.available_at) * 1000000::pg_catalog.float8)::bigint
            ),
            d.available_at
        )::mbus4.leased as lease
    from (select * from mbus4_call1_leased d order by greatest(d.delayed_until, d.added), d.id offset 0) d
)
select *
from (select (m.r).* from (select "lease" as r from mbus4_call1) m) as "lease";
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
$mbus4$;
-- where there is in the database:
create or replace function mbus4.at_spent_f59931fe(call text, consumer_id bigint, available_at timestamptz, id bigint, error text) returns boolean language sql volatile
set enable_seqscan = off
set enable_bitmapscan = off
set enable_hashjoin = off
set enable_mergejoin = off
set jit = off as $mbus4$
 with gone as (
     delete from mbus4.message m using (
         select c.qname, c.name, x.ctid as place
         from mbus4.consumer c
         cross join lateral (
             select x.ctid
             from mbus4.message x
             where x.consumer_id = c.id and x.available_at = $3 and x.id = $4
             for update skip locked
         ) x
         where c.id = $2
         offset 0
     ) c
     where m.ctid = c.place
     returning c.name,
         m.headers operator(mbus4_hstore.->) 'retry.error'::pg_catalog.text as error,
         row(
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
         )::mbus4.qt_model as message
 ),
 buried as materialized (select mbus4.at_bury_baee6485($1, g.message, g.name, coalesce($5, g.error, 'lease ended')) from gone g)
 select (select pg_catalog.count(*) from buried) > 0
$mbus4$

# For each row of a set.
select q, mbus4.lease(q) from (values ('orders'), ('copies')) v (q)
----
with mbus4_rows1 as materialized (
    select pg_catalog.row_number() over () as n, s.*
    from (select q, null, (q)::pg_catalog.text from (values ('orders'), ('copies')) v (q)) as s(h1, h2, h3)
),
mbus4_call1_args(n, "qname", "cname", "amt", "lease") as (
    select mbus4_rows1.n, mbus4_rows1.h3, 'default'::pg_catalog.text, '1'::integer, null::pg_catalog.interval from mbus4_rows1
),
mbus4_call1_consumer as materialized (
    select a.n,
        coalesce(
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
            end,
            1000000000000
        ) as amt,
        c.qname as queue,
        coalesce(
            (case when c.paused is null then c.id else -c.id end),
            mbus4.at_no_consumer_56bdd364('1 _session_secret_', a.qname, a.cname)
        ) as id,
        coalesce(c.hint, c.id % 128::bigint) as hint,
        case
            when a.lease < interval '1 millisecond'
                or a.lease > interval '365 days'
                then pg_catalog.make_interval(
                    secs => pg_catalog.
                    left(
                        pg_catalog.format(
                            'mbus4-error 1 _session_secret_ 22023 a lease must last between 1 ms and 365 days, and not %s',
                            a.lease
                        ),
                        2000
                    )::int
                )
            else coalesce(a.lease, coalesce(c.lease, interval '30 seconds'))
        end as lease,
        coalesce(c.max_attempts, 10) as most
    from mbus4_call1_args a
    left join lateral (
        select *
        from mbus4.consumer c
        where c.qname = pg_catalog.lower(a.qname collate "C") and c.name = pg_catalog.lower(a.cname collate "C")
        offset 0
    ) c on true
),
mbus4_call1_wanted as materialized (
    select k.id, k.queue, k.most, pg_catalog.sum(k.amt)::bigint as amt, pg_catalog.max(k.lease) as lease,
        pg_catalog.clock_timestamp() as now,
        pg_catalog.to_char(pg_catalog.clock_timestamp(), 'YYYY-MM-DD HH24:MI:SS.US') as told,
        pg_catalog.to_timestamp(
            coalesce(pg_catalog.pg_sequence_last_value(('mbus4.hint_' || (k.hint)::pg_catalog.text)::pg_catalog.regclass), 0)::pg_catalog.float8 / 1000000.0::pg_catalog.float8
        ) as low
    from mbus4_call1_consumer k
    group by k.id, k.queue, k.most, k.hint
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
                    when (
                        case
                            when m.expires <= t.now and m.consumer_id <> 1 then null
                            when m.after is not null and mbus4.awaits_delivery(m.after) then null
                            else 0
                        end
                    ) is not null
                        then case
                            when m.headers is null or m.consumer_id = 1 then 0
                            when case
                                when m.headers
                                    operator(mbus4_hstore.->) 'retry.attempt'::pg_catalog.text
                                    operator(pg_catalog.~) '^[0-9]{1,8}$'
                                    then (m.headers operator(mbus4_hstore.->) 'retry.attempt'::pg_catalog.text)::int
                                else 0
                            end < t.most
                                then 0
                            when mbus4.at_spent_f59931fe('1 _session_secret_', m.consumer_id, m.available_at, m.id, null)
                                then null
                        end
                end
            ) is not null
        order by m.available_at, m.id
        limit t.amt
        for update skip locked
    ) x
),
mbus4_call1_leased as (
    update mbus4.message m
    set available_at = (select t.now + t.lease from mbus4_call1_wanted t where t.id = m.consumer_id),
        iid = coalesce(
            m.iid,
            (select t.queue from mbus4_call1_wanted t where t.id = m.consumer_id) || '.' || pg_catalog.current_database()::pg_catalog.text || '.' || case
                when m.available_at < '2038-01-01Z'
                    then (pg_catalog.date_part('epoch', m.available_at) * 1000000::pg_catalog.float8)::bigint::pg_catalog.text
                when m.available_at < '2200-01-01Z'
                    then (extract(epoch from m.available_at) * 1000000::numeric)::bigint::pg_catalog.text
                else ''
            end || m.id::pg_catalog.text
        ),
        headers = mbus4_hstore.hstore(
            'retry.first'::pg_catalog.text, (select t.told from mbus4_call1_wanted t where t.id = m.consumer_id)
        )
            operator(mbus4_hstore.||) coalesce(m.headers, '')
            operator(mbus4_hstore.||) mbus4_hstore.hstore(
                array[
                    'retry.attempt',
                    (
                        1 + case
                            when m.headers
                                operator(mbus4_hstore.->) 'retry.attempt'::pg_catalog.text
                                operator(pg_catalog.~) '^[0-9]{1,8}$'
                                then (m.headers operator(mbus4_hstore.->) 'retry.attempt'::pg_catalog.text)::int
                            else 0
                        end
                    )::pg_catalog.text,
                    'retry.last',
                    (select t.told from mbus4_call1_wanted t where t.id = m.consumer_id)
                ]
            )
    where m.ctid = any(array(select s.tid from mbus4_call1_chosen s))
    returning m.id, m.consumer_id, m.available_at, m.added, m.delayed_until, m.expires, m.received, m.headers, m.properties,
        m.data, m.iid
),
mbus4_call1_placed as (
    select d.*,
        pg_catalog.row_number() over (partition by d.consumer_id order by greatest(d.delayed_until, d.added), d.id) as place
    from mbus4_call1_leased d
),
mbus4_call1 as (
    select r.n,
        row(
            d.id, d.added::timestamp, d.iid collate pg_catalog."default",
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
            d.properties, d.data,
            case
                when mbus4_hstore.exist(d.headers, 'json.payload') then mbus4.payload(d.headers, d.data)
                else mbus4_hstore.hstore_to_jsonb(d.data)
            end,
            (d.headers operator(mbus4_hstore.->) 'retry.attempt'::pg_catalog.text)::int,
            pg_catalog.concat_ws(
                '.', d.consumer_id, d.id,
                d.headers operator(mbus4_hstore.->) 'retry.attempt'::pg_catalog.text,
                (pg_catalog.date_part('epoch', d.available_at) * 1000000::pg_catalog.float8)::bigint
            ),
            d.available_at
        )::mbus4.leased as lease,
        d.place as o
    from (
        select k.n, k.id, k.queue, k.amt, pg_catalog.sum(k.amt) over (partition by k.id order by k.n) as upto
        from mbus4_call1_consumer k
    ) r
    join mbus4_call1_placed d on d.consumer_id = r.id and d.place > r.upto - r.amt and d.place <= r.upto
    order by r.n, d.place
)
select mbus4_rows1.h1 as "q", mbus4_call1."lease" as "lease"
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
$mbus4$;
-- where there is in the database:
create or replace function mbus4.at_spent_f59931fe(call text, consumer_id bigint, available_at timestamptz, id bigint, error text) returns boolean language sql volatile
set enable_seqscan = off
set enable_bitmapscan = off
set enable_hashjoin = off
set enable_mergejoin = off
set jit = off as $mbus4$
 with gone as (
     delete from mbus4.message m using (
         select c.qname, c.name, x.ctid as place
         from mbus4.consumer c
         cross join lateral (
             select x.ctid
             from mbus4.message x
             where x.consumer_id = c.id and x.available_at = $3 and x.id = $4
             for update skip locked
         ) x
         where c.id = $2
         offset 0
     ) c
     where m.ctid = c.place
     returning c.name,
         m.headers operator(mbus4_hstore.->) 'retry.error'::pg_catalog.text as error,
         row(
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
         )::mbus4.qt_model as message
 ),
 buried as materialized (select mbus4.at_bury_baee6485($1, g.message, g.name, coalesce($5, g.error, 'lease ended')) from gone g)
 select (select pg_catalog.count(*) from buried) > 0
$mbus4$

# The end of the work.
select mbus4.ack($1)
----
with mbus4_call1_args(n, "lease") as (select 1::bigint, ($1)::pg_catalog.text),
mbus4_call1_taken as (
    delete from mbus4.message m
    where (m.consumer_id, m.available_at, m.id, m.headers operator(mbus4_hstore.->) 'retry.attempt'::pg_catalog.text) = (
        select pg_catalog.split_part(p.lease, '.', 1)::bigint,
            pg_catalog.timestamptz 'epoch' + (pg_catalog.split_part(p.lease, '.', 4))::bigint::pg_catalog.float8 * interval '1 microsecond',
            pg_catalog.split_part(p.lease, '.', 2)::bigint,
            pg_catalog.split_part(p.lease, '.', 3)
        from (
            select a.lease
            from mbus4_call1_args a
            where case
                when pg_catalog.octet_length(a.lease) <= 39
                    and a.lease operator(pg_catalog.~~) '_%._%._%.________________'
                    and pg_catalog.translate(a.lease, '0123456789', '') operator(pg_catalog.=) '...'
                    then true
                when a.lease is null then false
                else mbus4.at_parts_of_lease_86ae55a1('1 _session_secret_', a.lease) is not null
            end
            offset 0
        ) p
    )
        and m.delayed_until is distinct from m.available_at
    returning m.consumer_id
),
mbus4_call1 as (
    select 1::bigint as n,
        (select 1 from mbus4.consumer c where c.id = (select t.consumer_id from mbus4_call1_taken t)) is not null as ack
)
select "ack" as "ack"
from mbus4_call1;
-- where there is in the database:
create or replace function mbus4.at_parts_of_lease_86ae55a1(call text, lease text) returns text[] language sql volatile as $mbus4$
 select case
     when $2 operator(pg_catalog.~) '^[0-9]{1,18}[.][0-9]{1,18}[.][0-9]{1,8}[.][0-9]{16}$'
         then pg_catalog.string_to_array($2, '.')
     else pg_catalog.left(pg_catalog.format('mbus4-error '||$1||' 22023 "%s" is not a lease', $2), 2000)::int::pg_catalog.text::pg_catalog.text[]
 end
 limit 1
$mbus4$

# messages wait
select mbus4.ack($1)
----
with mbus4_call1_args(n, "lease") as (select 1::bigint, ($1)::pg_catalog.text),
mbus4_call1_taken as (
    delete from mbus4.message m
    where (m.consumer_id, m.available_at, m.id, m.headers operator(mbus4_hstore.->) 'retry.attempt'::pg_catalog.text) = (
        select pg_catalog.split_part(p.lease, '.', 1)::bigint,
            pg_catalog.timestamptz 'epoch' + (pg_catalog.split_part(p.lease, '.', 4))::bigint::pg_catalog.float8 * interval '1 microsecond',
            pg_catalog.split_part(p.lease, '.', 2)::bigint,
            pg_catalog.split_part(p.lease, '.', 3)
        from (
            select a.lease
            from mbus4_call1_args a
            where case
                when pg_catalog.octet_length(a.lease) <= 39
                    and a.lease operator(pg_catalog.~~) '_%._%._%.________________'
                    and pg_catalog.translate(a.lease, '0123456789', '') operator(pg_catalog.=) '...'
                    then true
                when a.lease is null then false
                else mbus4.at_parts_of_lease_86ae55a1('1 _session_secret_', a.lease) is not null
            end
            offset 0
        ) p
    )
        and m.delayed_until is distinct from m.available_at
    returning m.consumer_id,
        case
            when (select 1 from mbus4.waiting g where g.dep = m.iid order by g.dep, g.consumer_id, g.id limit 1) is not null
                then mbus4.wake(m.iid)
        end as woken
),
mbus4_call1 as (
    select 1::bigint as n,
        (select 1 from mbus4.consumer c where c.id = (select t.consumer_id from mbus4_call1_taken t)) is not null as ack
)
select "ack" as "ack"
from mbus4_call1;
-- where there is in the database:
create or replace function mbus4.at_parts_of_lease_86ae55a1(call text, lease text) returns text[] language sql volatile as $mbus4$
 select case
     when $2 operator(pg_catalog.~) '^[0-9]{1,18}[.][0-9]{1,18}[.][0-9]{1,8}[.][0-9]{16}$'
         then pg_catalog.string_to_array($2, '.')
     else pg_catalog.left(pg_catalog.format('mbus4-error '||$1||' 22023 "%s" is not a lease', $2), 2000)::int::pg_catalog.text::pg_catalog.text[]
 end
 limit 1
$mbus4$

select mbus4.ack(l) from unnest($1::text[]) l
----
with mbus4_rows1 as (
    select pg_catalog.row_number() over () as n, s.*
    from (select null, (l)::pg_catalog.text from unnest($1::text[]) l) as s(h1, h2)
),
mbus4_call1_args(n, "lease") as (select mbus4_rows1.n, mbus4_rows1.h2 from mbus4_rows1),
mbus4_call1_key as materialized (
    select p.n, p.part[1]::bigint as consumer_id, p.part[2]::bigint as id, p.part[3] as attempt,
        pg_catalog.timestamptz 'epoch' + (p.part[4])::bigint::pg_catalog.float8 * interval '1 microsecond' as available_at
    from (
        select a.n,
            case
                when a.lease is null then null
                when pg_catalog.octet_length(a.lease) <= 39
                    and a.lease operator(pg_catalog.~~) '_%._%._%.________________'
                    and pg_catalog.translate(a.lease, '0123456789', '') operator(pg_catalog.=) '...'
                    then pg_catalog.string_to_array(a.lease, '.')
                else mbus4.at_parts_of_lease_86ae55a1('1 _session_secret_', a.lease)
            end as part
        from mbus4_call1_args a
        offset 0
    ) p
),
mbus4_call1_chosen as materialized (
    select k.n, x.tid
    from mbus4_call1_key k
    cross join lateral (
        select m.ctid as tid
        from mbus4.message m
        where m.consumer_id = k.consumer_id
            and m.available_at = k.available_at
            and m.id = k.id
            and (
                m.delayed_until is distinct from m.available_at
                    and m.headers operator(mbus4_hstore.->) 'retry.attempt'::pg_catalog.text = k.attempt
            )
        order by m.consumer_id, m.available_at, m.id
        limit 1
        for update
    ) x
),
mbus4_call1_taken as (
    delete from mbus4.message m where m.ctid = any(array(select s.tid from mbus4_call1_chosen s)) returning m.ctid as tid, m.iid
),
mbus4_call1 as (
    select k.n,
        (
            select pg_catalog.min(s.n)
            from mbus4_call1_chosen s
            where s.tid = (select o.tid from mbus4_call1_chosen o where o.n = k.n)
        ) is not distinct from k.n
            and (select 1 from mbus4.consumer c where c.id = k.consumer_id) is not null as ack
    from mbus4_call1_key k
)
select mbus4_call1."ack" as "ack"
from mbus4_call1
order by mbus4_call1.n;
-- where there is in the database:
create or replace function mbus4.at_parts_of_lease_86ae55a1(call text, lease text) returns text[] language sql volatile as $mbus4$
 select case
     when $2 operator(pg_catalog.~) '^[0-9]{1,18}[.][0-9]{1,18}[.][0-9]{1,8}[.][0-9]{16}$'
         then pg_catalog.string_to_array($2, '.')
     else pg_catalog.left(pg_catalog.format('mbus4-error '||$1||' 22023 "%s" is not a lease', $2), 2000)::int::pg_catalog.text::pg_catalog.text[]
 end
 limit 1
$mbus4$

# The rest are functions.
select mbus4.retry($1, 'no paper'), mbus4.fail($2, 'no printer'), mbus4.extend($3, '5 min')
----
select mbus4.at_retry_698f4eb1(
    '1 _session_secret_', mbus4.to_retry(($1)), ('no paper')::pg_catalog.text, null::pg_catalog.interval, null::pg_catalog.text
) as "retry",
    mbus4.at_fail_7f422904('2 _session_secret_', ($2)::pg_catalog.text, ('no printer')::pg_catalog.text) as "fail",
    mbus4.at_extend_74979a0b('3 _session_secret_', ($3)::pg_catalog.text, ('5 min')::pg_catalog.interval) as "extend";
-- where there is in the database:
create or replace function mbus4.at_retry_698f4eb1(call text, target mbus4.retry_target, error text, delay interval, cname text) returns boolean language sql volatile
set enable_seqscan = off
set enable_bitmapscan = off
set enable_hashjoin = off
set enable_mergejoin = off
set jit = off as $mbus4$
 with asked as materialized (
     select case
         when ($2).lease is null then null
         when pg_catalog.octet_length(($2).lease) <= 39
             and ($2).lease operator(pg_catalog.~~) '_%._%._%.________________'
             and pg_catalog.translate(($2).lease, '0123456789', '') operator(pg_catalog.=) '...'
             then pg_catalog.string_to_array(($2).lease, '.')
         else mbus4.at_parts_of_lease_86ae55a1(''||$1||'', ($2).lease)
     end as part,
         ($2).message as message,
         pg_catalog.to_char(pg_catalog.clock_timestamp(), 'YYYY-MM-DD HH24:MI:SS.US') as told
 ),
 given as materialized (
     select a.part, a.message, a.told,
         pg_catalog.lower((a.message).headers operator(mbus4_hstore.->) 'destination'::pg_catalog.text collate "C") as queue
     from asked a
     where case
         when a.part is not null
             and $5 is not null
             then pg_catalog.left(
                 pg_catalog.format(
                     'mbus4-error '||$1||' 22023 cname must not be given together with a lease, but is %s',
                     pg_catalog.quote_ident($5)
                 ),
                 2000
             )::int
         when a.part is not null then 1
         when a.message is null then 0
         when (a.message).id is null
             or (a.message).iid is null
             or (a.message).added is null
             then pg_catalog.left(
                 pg_catalog.format('mbus4-error '||$1||' 22004 this row is not a message: id, iid or added is null'), 2000
             )::int
         else 1
     end = 1
 ),
 leased as materialized (
     select m.consumer_id, m.available_at, m.id, g.part[3]::int as attempt
     from given g
     join mbus4.message m on m.consumer_id = g.part[1]::bigint
         and m.available_at = pg_catalog.timestamptz 'epoch' + (g.part[4])::bigint::pg_catalog.float8 * interval '1 microsecond'
         and m.id = g.part[2]::bigint
     where (
         m.delayed_until is distinct from m.available_at
             and m.headers operator(mbus4_hstore.->) 'retry.attempt'::pg_catalog.text = g.part[3]
     )
     for update of m
 ),
 consumed as materialized (
     select c as consumer, g.message,
         mbus4_hstore.hstore('retry.first'::pg_catalog.text, g.told)
             operator(mbus4_hstore.||) coalesce((g.message).headers, '')
             operator(mbus4_hstore.||) mbus4_hstore.hstore(
                 array[
                     'retry.attempt',
                     (
                         1 + case
                             when (g.message).headers
                                 operator(mbus4_hstore.->) 'retry.attempt'::pg_catalog.text
                                 operator(pg_catalog.~) '^[0-9]{1,8}$'
                                 then ((g.message).headers operator(mbus4_hstore.->) 'retry.attempt'::pg_catalog.text)::int
                             else 0
                         end
                     )::pg_catalog.text,
                     'retry.last', g.told
                 ]
             ) as headers
     from given g
     left join mbus4.consumer c on c.qname = g.queue and c.name = pg_catalog.lower(coalesce($5, 'default') collate "C")
     where g.part is null
         and case
             when c.id is null
                 then case
                     when exists (select from mbus4.queue q where q.qname = g.queue)
                         then pg_catalog.left(
                             pg_catalog.format(
                                 'mbus4-error '||$1||' 42704 queue "%s" has no consumer "%s"', g.queue, coalesce($5, 'default')
                             ),
                             2000
                         )
                     else pg_catalog.left(
                         pg_catalog.format(
                             'mbus4-error '||$1||' 42704 queue %s does not exist', coalesce('"' || g.queue || '"', 'null')
                         ),
                         2000
                     )
                 end::int
             when not exists (select from mbus4.message m where m.iid = (g.message).iid and m.consumer_id = c.id)
                 and not exists (
                     select
                     from mbus4.places_of_iid((g.message).iid) p
                     join mbus4.message m on m.consumer_id = c.id and m.available_at = p.available_at and m.id = p.id
                     where p.queue = g.queue and m.iid is null
                 )
                 then 1
             when $5 is null
                 and exists (select from mbus4.consumer o where o.qname = g.queue and o.target is null and o.id <> c.id)
                 then pg_catalog.left(
                     pg_catalog.format(
                         'mbus4-error '||$1||' 42725 consumer "default" of queue "%s" still has message "%s"',
                         g.queue, (g.message).iid
                     ),
                     2000
                 )::int
             else 0
         end = 1
 ),
 tried as materialized (
     select s.*,
         case
             when $4 < interval '0'
                 or $4 > interval '365 days'
                 then pg_catalog.make_interval(
                     secs => pg_catalog.
                     left(
                         pg_catalog.format('mbus4-error '||$1||' 22023 delay must be between 0 and 365 days, and is %s', $4), 2000
                     )::int
                 )
             else coalesce(
                 $4,
                 pg_catalog.make_interval(
                     secs => least(
                         extract(epoch from coalesce((s.consumer).max_backoff, interval '1 hour'))::pg_catalog.float8,
                         extract(epoch from coalesce((s.consumer).backoff, interval '1 second'))::pg_catalog.float8 * pg_catalog.power(
                             2, least(s.attempt - 1, 60)::pg_catalog.float8
                         )
                     ) * (1::pg_catalog.float8 - coalesce((s.consumer).jitter, 0.1) * pg_catalog.random())
                 )
             )
         end as pause,
         s.attempt >= coalesce((s.consumer).max_attempts, 10) and (s.consumer).id <> 1 as over
     from (
         select true as leased, c as consumer, l.attempt, l.available_at, l.id, null::mbus4.qt_model as message,
             (null::mbus4.qt_model).headers as headers
         from leased l
         join mbus4.consumer c on c.id = l.consumer_id
         union all select false, c.consumer,
             (c.headers operator(mbus4_hstore.->) 'retry.attempt'::pg_catalog.text)::int,
             null, (c.message).id, c.message, c.headers
         from consumed c
     ) s
 ),
 spent as materialized (
     select mbus4.at_spent_f59931fe(
         $1, (t.consumer).id, t.available_at, t.id, coalesce(pg_catalog.left($3, 2000), 'retried without an error')
     ) as was
     from tried t
     where t.over and t.leased
 ),
 buried as materialized (
     select mbus4.at_bury_baee6485(
         $1,
         row(
             t.id, (t.message).added, (t.message).iid, (t.message).delayed_until, (t.message).expires, (t.message).received,
             t.headers, (t.message).properties, (t.message).data
         )::mbus4.qt_model,
         (t.consumer).name,
         coalesce(pg_catalog.left($3, 2000), 'retried without an error')
     )
     from tried t
     where t.over and not t.leased
 ),
 drawn as materialized (
     select t.*,
         case
             when pg_catalog.pg_try_advisory_xact_lock_shared(1835169140, pg_catalog.hashtext((t.consumer).qname) & 63)
                 then pg_catalog.nextval('mbus4.post_id')
             when pg_catalog.nextval('mbus4.message_id') > 0 then pg_catalog.nextval('mbus4.post_id')
         end as new
     from tried t
     where not t.over
 ),
 timed as materialized (
     select d.*,
         case when d.new > 0 then pg_catalog.clock_timestamp() + d.pause end as at,
         case
             when $3 is null then ''
             else mbus4_hstore.hstore('retry.error'::pg_catalog.text, pg_catalog.left($3, 2000))
         end as error
     from drawn d
 ),
 moved as (
     update mbus4.message m
     set available_at = t.at, delayed_until = t.at, headers = m.headers operator(mbus4_hstore.||) t.error
     from timed t
     where t.leased and m.consumer_id = (t.consumer).id and m.available_at = t.available_at and m.id = t.id
     returning 1
 ),
 put as (
     insert into mbus4.message (id, consumer_id, available_at, added, iid, delayed_until, expires, headers, properties, data)
     select t.id, (t.consumer).id, t.at, (t.message).added, (t.message).iid, t.at, (t.message).expires,
         t.headers operator(mbus4_hstore.||) t.error,
         (t.message).properties, (t.message).data
     from timed t
     where not t.leased
     returning 1
 )
 select (select pg_catalog.count(*) from spent s where s.was) + (select pg_catalog.count(*) from buried) + (
     select pg_catalog.count(*) from moved
 ) + (select pg_catalog.count(*) from put) > 0
$mbus4$;
-- where there is in the database:
create or replace function mbus4.at_fail_7f422904(call text, lease text, error text) returns boolean language sql volatile
set enable_seqscan = off
set enable_bitmapscan = off
set enable_hashjoin = off
set enable_mergejoin = off
set jit = off as $mbus4$
 with named as materialized (
     select case
         when $2 is null then null
         when pg_catalog.octet_length($2) <= 39
             and $2 operator(pg_catalog.~~) '_%._%._%.________________'
             and pg_catalog.translate($2, '0123456789', '') operator(pg_catalog.=) '...'
             then pg_catalog.string_to_array($2, '.')
         else mbus4.at_parts_of_lease_86ae55a1(''||$1||'', $2)
     end as part
 ),
 leased as materialized (
     select m.consumer_id, m.available_at, m.id
     from named n
     join mbus4.message m on m.consumer_id = n.part[1]::bigint
         and m.available_at = pg_catalog.timestamptz 'epoch' + (n.part[4])::bigint::pg_catalog.float8 * interval '1 microsecond'
         and m.id = n.part[2]::bigint
     where (
         m.delayed_until is distinct from m.available_at
             and m.headers operator(mbus4_hstore.->) 'retry.attempt'::pg_catalog.text = n.part[3]
     )
     for update of m
 )
 select coalesce(
     (
         select mbus4.at_spent_f59931fe(
             $1, l.consumer_id, l.available_at, l.id, coalesce(pg_catalog.left($3, 2000), 'failed without an error')
         )
         from leased l
     ),
     false
 )
$mbus4$;
-- where there is in the database:
create or replace function mbus4.at_extend_74979a0b(call text, lease text, duration interval) returns text language sql volatile
set enable_seqscan = off
set enable_bitmapscan = off
set enable_hashjoin = off
set enable_mergejoin = off
set jit = off as $mbus4$
 with named as materialized (
     select case
         when $2 is null then null
         when pg_catalog.octet_length($2) <= 39
             and $2 operator(pg_catalog.~~) '_%._%._%.________________'
             and pg_catalog.translate($2, '0123456789', '') operator(pg_catalog.=) '...'
             then pg_catalog.string_to_array($2, '.')
         else mbus4.at_parts_of_lease_86ae55a1(''||$1||'', $2)
     end as part
 ),
 given as materialized (
     select n.part,
         case
             when $3 < interval '1 millisecond'
                 or $3 > interval '365 days'
                 then pg_catalog.make_interval(
                     secs => pg_catalog.
                     left(
                         pg_catalog.format(
                             'mbus4-error '||$1||' 22023 a lease must last between 1 ms and 365 days, and not %s', $3
                         ),
                         2000
                     )::int
                 )
             else coalesce($3, coalesce(c.lease, interval '30 seconds'))
         end as length,
         c.id, c.qname
     from named n
     left join mbus4.consumer c on c.id = n.part[1]::bigint
 ),
 drawn as materialized (
     select g.part, g.length, g.id,
         case
             when pg_catalog.pg_try_advisory_xact_lock_shared(1835169140, pg_catalog.hashtext(g.qname) & 63)
                 then pg_catalog.nextval('mbus4.post_id')
             when pg_catalog.nextval('mbus4.message_id') > 0 then pg_catalog.nextval('mbus4.post_id')
         end as new
     from given g
     where g.id is not null
 )
 update mbus4.message m
 set available_at = case when d.new > 0 then pg_catalog.clock_timestamp() + d.length end
 from drawn d
 where m.consumer_id = d.id
     and m.available_at = pg_catalog.timestamptz 'epoch' + (d.part[4])::bigint::pg_catalog.float8 * interval '1 microsecond'
     and m.id = d.part[2]::bigint
     and (
         m.delayed_until is distinct from m.available_at
             and m.headers operator(mbus4_hstore.->) 'retry.attempt'::pg_catalog.text = d.part[3]
     )
 returning pg_catalog.concat_ws(
     '.', m.consumer_id, m.id,
     m.headers operator(mbus4_hstore.->) 'retry.attempt'::pg_catalog.text,
     (pg_catalog.date_part('epoch', m.available_at) * 1000000::pg_catalog.float8)::bigint
 )
$mbus4$

select mbus4.retry(m, 'no paper') from mbus4.consume('orders') m
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
select mbus4.at_retry_698f4eb1(
    '2 _session_secret_', mbus4.to_retry((m)), ('no paper')::pg_catalog.text, null::pg_catalog.interval, null::pg_catalog.text
) as "retry"
from pg_catalog.unnest(array(select "consume" from mbus4_call1)) m;
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
$mbus4$;
-- where there is in the database:
create or replace function mbus4.at_retry_698f4eb1(call text, target mbus4.retry_target, error text, delay interval, cname text) returns boolean language sql volatile
set enable_seqscan = off
set enable_bitmapscan = off
set enable_hashjoin = off
set enable_mergejoin = off
set jit = off as $mbus4$
 with asked as materialized (
     select case
         when ($2).lease is null then null
         when pg_catalog.octet_length(($2).lease) <= 39
             and ($2).lease operator(pg_catalog.~~) '_%._%._%.________________'
             and pg_catalog.translate(($2).lease, '0123456789', '') operator(pg_catalog.=) '...'
             then pg_catalog.string_to_array(($2).lease, '.')
         else mbus4.at_parts_of_lease_86ae55a1(''||$1||'', ($2).lease)
     end as part,
         ($2).message as message,
         pg_catalog.to_char(pg_catalog.clock_timestamp(), 'YYYY-MM-DD HH24:MI:SS.US') as told
 ),
 given as materialized (
     select a.part, a.message, a.told,
         pg_catalog.lower((a.message).headers operator(mbus4_hstore.->) 'destination'::pg_catalog.text collate "C") as queue
     from asked a
     where case
         when a.part is not null
             and $5 is not null
             then pg_catalog.left(
                 pg_catalog.format(
                     'mbus4-error '||$1||' 22023 cname must not be given together with a lease, but is %s',
                     pg_catalog.quote_ident($5)
                 ),
                 2000
             )::int
         when a.part is not null then 1
         when a.message is null then 0
         when (a.message).id is null
             or (a.message).iid is null
             or (a.message).added is null
             then pg_catalog.left(
                 pg_catalog.format('mbus4-error '||$1||' 22004 this row is not a message: id, iid or added is null'), 2000
             )::int
         else 1
     end = 1
 ),
 leased as materialized (
     select m.consumer_id, m.available_at, m.id, g.part[3]::int as attempt
     from given g
     join mbus4.message m on m.consumer_id = g.part[1]::bigint
         and m.available_at = pg_catalog.timestamptz 'epoch' + (g.part[4])::bigint::pg_catalog.float8 * interval '1 microsecond'
         and m.id = g.part[2]::bigint
     where (
         m.delayed_until is distinct from m.available_at
             and m.headers operator(mbus4_hstore.->) 'retry.attempt'::pg_catalog.text = g.part[3]
     )
     for update of m
 ),
 consumed as materialized (
     select c as consumer, g.message,
         mbus4_hstore.hstore('retry.first'::pg_catalog.text, g.told)
             operator(mbus4_hstore.||) coalesce((g.message).headers, '')
             operator(mbus4_hstore.||) mbus4_hstore.hstore(
                 array[
                     'retry.attempt',
                     (
                         1 + case
                             when (g.message).headers
                                 operator(mbus4_hstore.->) 'retry.attempt'::pg_catalog.text
                                 operator(pg_catalog.~) '^[0-9]{1,8}$'
                                 then ((g.message).headers operator(mbus4_hstore.->) 'retry.attempt'::pg_catalog.text)::int
                             else 0
                         end
                     )::pg_catalog.text,
                     'retry.last', g.told
                 ]
             ) as headers
     from given g
     left join mbus4.consumer c on c.qname = g.queue and c.name = pg_catalog.lower(coalesce($5, 'default') collate "C")
     where g.part is null
         and case
             when c.id is null
                 then case
                     when exists (select from mbus4.queue q where q.qname = g.queue)
                         then pg_catalog.left(
                             pg_catalog.format(
                                 'mbus4-error '||$1||' 42704 queue "%s" has no consumer "%s"', g.queue, coalesce($5, 'default')
                             ),
                             2000
                         )
                     else pg_catalog.left(
                         pg_catalog.format(
                             'mbus4-error '||$1||' 42704 queue %s does not exist', coalesce('"' || g.queue || '"', 'null')
                         ),
                         2000
                     )
                 end::int
             when not exists (select from mbus4.message m where m.iid = (g.message).iid and m.consumer_id = c.id)
                 and not exists (
                     select
                     from mbus4.places_of_iid((g.message).iid) p
                     join mbus4.message m on m.consumer_id = c.id and m.available_at = p.available_at and m.id = p.id
                     where p.queue = g.queue and m.iid is null
                 )
                 then 1
             when $5 is null
                 and exists (select from mbus4.consumer o where o.qname = g.queue and o.target is null and o.id <> c.id)
                 then pg_catalog.left(
                     pg_catalog.format(
                         'mbus4-error '||$1||' 42725 consumer "default" of queue "%s" still has message "%s"',
                         g.queue, (g.message).iid
                     ),
                     2000
                 )::int
             else 0
         end = 1
 ),
 tried as materialized (
     select s.*,
         case
             when $4 < interval '0'
                 or $4 > interval '365 days'
                 then pg_catalog.make_interval(
                     secs => pg_catalog.
                     left(
                         pg_catalog.format('mbus4-error '||$1||' 22023 delay must be between 0 and 365 days, and is %s', $4), 2000
                     )::int
                 )
             else coalesce(
                 $4,
                 pg_catalog.make_interval(
                     secs => least(
                         extract(epoch from coalesce((s.consumer).max_backoff, interval '1 hour'))::pg_catalog.float8,
                         extract(epoch from coalesce((s.consumer).backoff, interval '1 second'))::pg_catalog.float8 * pg_catalog.power(
                             2, least(s.attempt - 1, 60)::pg_catalog.float8
                         )
                     ) * (1::pg_catalog.float8 - coalesce((s.consumer).jitter, 0.1) * pg_catalog.random())
                 )
             )
         end as pause,
         s.attempt >= coalesce((s.consumer).max_attempts, 10) and (s.consumer).id <> 1 as over
     from (
         select true as leased, c as consumer, l.attempt, l.available_at, l.id, null::mbus4.qt_model as message,
             (null::mbus4.qt_model).headers as headers
         from leased l
         join mbus4.consumer c on c.id = l.consumer_id
         union all select false, c.consumer,
             (c.headers operator(mbus4_hstore.->) 'retry.attempt'::pg_catalog.text)::int,
             null, (c.message).id, c.message, c.headers
         from consumed c
     ) s
 ),
 spent as materialized (
     select mbus4.at_spent_f59931fe(
         $1, (t.consumer).id, t.available_at, t.id, coalesce(pg_catalog.left($3, 2000), 'retried without an error')
     ) as was
     from tried t
     where t.over and t.leased
 ),
 buried as materialized (
     select mbus4.at_bury_baee6485(
         $1,
         row(
             t.id, (t.message).added, (t.message).iid, (t.message).delayed_until, (t.message).expires, (t.message).received,
             t.headers, (t.message).properties, (t.message).data
         )::mbus4.qt_model,
         (t.consumer).name,
         coalesce(pg_catalog.left($3, 2000), 'retried without an error')
     )
     from tried t
     where t.over and not t.leased
 ),
 drawn as materialized (
     select t.*,
         case
             when pg_catalog.pg_try_advisory_xact_lock_shared(1835169140, pg_catalog.hashtext((t.consumer).qname) & 63)
                 then pg_catalog.nextval('mbus4.post_id')
             when pg_catalog.nextval('mbus4.message_id') > 0 then pg_catalog.nextval('mbus4.post_id')
         end as new
     from tried t
     where not t.over
 ),
 timed as materialized (
     select d.*,
         case when d.new > 0 then pg_catalog.clock_timestamp() + d.pause end as at,
         case
             when $3 is null then ''
             else mbus4_hstore.hstore('retry.error'::pg_catalog.text, pg_catalog.left($3, 2000))
         end as error
     from drawn d
 ),
 moved as (
     update mbus4.message m
     set available_at = t.at, delayed_until = t.at, headers = m.headers operator(mbus4_hstore.||) t.error
     from timed t
     where t.leased and m.consumer_id = (t.consumer).id and m.available_at = t.available_at and m.id = t.id
     returning 1
 ),
 put as (
     insert into mbus4.message (id, consumer_id, available_at, added, iid, delayed_until, expires, headers, properties, data)
     select t.id, (t.consumer).id, t.at, (t.message).added, (t.message).iid, t.at, (t.message).expires,
         t.headers operator(mbus4_hstore.||) t.error,
         (t.message).properties, (t.message).data
     from timed t
     where not t.leased
     returning 1
 )
 select (select pg_catalog.count(*) from spent s where s.was) + (select pg_catalog.count(*) from buried) + (
     select pg_catalog.count(*) from moved
 ) + (select pg_catalog.count(*) from put) > 0
$mbus4$

select mbus4.alter_consumer('orders', max_attempts => 5), mbus4.redrive('orders')
----
select case
    when mbus4.at_alter_consumer_fd6b196f(
        '1 _session_secret_', ('orders')::pg_catalog.text, 'default'::pg_catalog.text, (5)::integer, null::pg_catalog.interval,
        null::pg_catalog.interval, null::double precision, null::pg_catalog.interval
    ) > 0
        then ''::pg_catalog.void
end as "alter_consumer",
    mbus4.at_redrive_e5eb825c('2 _session_secret_', ('orders')::pg_catalog.text, null::pg_catalog.text, null::integer) as "redrive";
-- where there is in the database:
create or replace function mbus4.at_redrive_e5eb825c(call text, qname text, selector text, amt int) returns bigint language sql volatile
set enable_seqscan = off
set enable_bitmapscan = off
set enable_hashjoin = off
set enable_mergejoin = off
set jit = off as $mbus4$
 with recursive asked as materialized (
     select pg_catalog.lower($2 collate "C") as queue,
         s.condition,
         pg_catalog.to_timestamp(
             coalesce(
                 pg_catalog.pg_sequence_last_value(('mbus4.hint_' || (coalesce(c.hint, 1))::pg_catalog.text)::pg_catalog.regclass),
                 0
             )::pg_catalog.float8 / 1000000.0::pg_catalog.float8
         ) as low
     from (select $3 as text) a
     left join mbus4.selector s on s.id = ('x' || pg_catalog.left(pg_catalog.md5(pg_catalog.convert_to(a.text, 'UTF8')), 16))::bit(
         64
     )::bigint
         and s.text = a.text
         and s.refused is null
         and pg_catalog.btrim(a.text, E' \t\r\n') <> ''
     join mbus4.consumer c on c.id = 1
     where case
         when $4 < 0
             then pg_catalog.left(
                 pg_catalog.format('mbus4-error '||$1||' 2201W the number of messages must not be negative, but it is %s', $4),
                 2000
             )::int = 0
         when s.id is null and pg_catalog.btrim(a.text, E' \t\r\n') <> '' then mbus4.no_selector($1, $3) = 0
         else true
     end
 ),
 selected as materialized (
     select w.word::pg_catalog.text::pg_catalog.tid as place
     from asked a
     cross join lateral pg_catalog.ts_stat(
         pg_catalog.format(
             $text$
 select pg_catalog.array_to_tsvector(array[m.ctid::pg_catalog.text])
 from mbus4.message m
 cross join lateral (
     select (
         row(
             m.id, m.added::timestamp,
             coalesce(
                 m.iid,
                 'dmq' || '.' || pg_catalog.current_database()::pg_catalog.text || '.' || case
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
                         'destination_queue', 'dmq', 'seenby',
                         array[pg_catalog.current_database()::pg_catalog.text]::pg_catalog.text,
                         'enqueue_time',
                         case
                             when pg_catalog.starts_with(pg_catalog.current_setting('datestyle'), 'ISO')
                                 then m.added::timestamp::pg_catalog.text
                             else mbus4.time_text(m.added::timestamp)
                         end,
                         'destination', 'dmq'
                     ],
                     case when pg_catalog.starts_with('dmq', 'temp.') then array['tempq', 'dmq'] end
                 )
             )
                 operator(mbus4_hstore.||) coalesce(
                     m.headers
                         operator(mbus4_hstore.||) case
                             when m.consumer_id = 1 and mbus4_hstore.exist(m.headers, 'destination') then ''
                             else mbus4_hstore.hstore(
                                 pg_catalog.array_cat(
                                     array['destination', 'dmq'],
                                     case when pg_catalog.starts_with('dmq', 'temp.') then array['tempq', 'dmq'] end
                                 )
                             )
                         end,
                     ''
                 ),
             m.properties, m.data
         )::mbus4.qt_model
     ).*
     offset 0
 ) t
 where m.consumer_id = 1 and m.available_at <= pg_catalog.clock_timestamp() and (%s) = 1
             $text$,
             a.condition
         )
     ) w
     where a.condition is not null
 ),
 looked (n, at, id, can_go, place, queue, iid, stays, new, now, expires, headers, properties, data, deps, ids) as (
     select 0::bigint, a.low, 0::bigint, 0::bigint, null::pg_catalog.tid, null::pg_catalog.text,
         null::pg_catalog.text collate "C", null::pg_catalog.text, null::bigint, null::pg_catalog.timestamptz,
         null::pg_catalog.timestamptz, (null::mbus4.message).headers, (null::mbus4.message).properties,
         (null::mbus4.message).data, null::pg_catalog.text[], null::bigint[]
     from asked a
     union all select l.n + 1, m.available_at, m.id,
         l.can_go + case when w.stays is null then 1 else 0 end,
         m.place, d.queue, d.own_iid, w.stays, i.new, t.now, m.expires, h.headers, m.properties, m.data, d.deps, g.ids
     from looked l
     cross join lateral (
         select m.ctid as place, m.*
         from mbus4.message m
         where m.consumer_id = 1
             and (m.available_at, m.id) > (l.at, l.id)
             and m.available_at <= pg_catalog.clock_timestamp()
             and case
                 when (select a.queue from asked a) is null
                     then m.headers operator(mbus4_hstore.->) 'destination'::pg_catalog.text is not null
                 else m.headers operator(mbus4_hstore.->) 'destination'::pg_catalog.text = (select a.queue from asked a)
             end
             and ((select a.condition from asked a) is null or m.ctid in (select s.place from selected s))
         order by m.available_at, m.id
         limit 1
         for update skip locked
     ) m
     cross join lateral (
         select m.headers operator(mbus4_hstore.->) 'destination'::pg_catalog.text as queue,
             m.headers operator(mbus4_hstore.->) 'dmq.consumer'::pg_catalog.text as consumer,
             coalesce(
                 m.headers operator(mbus4_hstore.->) 'dmq.iid'::pg_catalog.text,
                 coalesce(
                     m.iid,
                     'dmq' || '.' || pg_catalog.current_database()::pg_catalog.text || '.' || case
                         when m.available_at < '2038-01-01Z'
                             then (pg_catalog.date_part('epoch', m.available_at) * 1000000::pg_catalog.float8)::bigint::pg_catalog.text
                         when m.available_at < '2200-01-01Z'
                             then (extract(epoch from m.available_at) * 1000000::numeric)::bigint::pg_catalog.text
                         else ''
                     end || m.id::pg_catalog.text
                 )
             ) as own_iid,
             m.headers
                 operator(mbus4_hstore.-) array[
                     'destination', 'dmq.added', 'dmq.error', 'dmq.consumer', 'dmq.iid', 'retry.attempt', 'retry.first',
                     'retry.last', 'retry.error'
                 ] as kept,
             nullif(
                 m.headers operator(mbus4_hstore.->) 'seenby'::pg_catalog.text,
                 array[pg_catalog.current_database()::pg_catalog.text]::pg_catalog.text
             ) as seen,
             m.headers operator(mbus4_hstore.->) 'consume_after'::pg_catalog.text as wanted,
             mbus4.array_of(m.headers operator(mbus4_hstore.->) 'consume_after'::pg_catalog.text) as deps
         offset 0
     ) d
     cross join lateral (
         select case
             when d.queue = 'dmq' or not exists (select from mbus4.queue q where q.qname = d.queue) then 'gone'
             when m.expires <= pg_catalog.clock_timestamp() then 'expired'
             when d.seen is not null and mbus4.array_of(d.seen) is null or d.wanted is not null and d.deps is null then 'taken'
         end as no_way,
             case
                 when d.seen is null then d.kept operator(mbus4_hstore.-) 'seenby'::pg_catalog.text
                 else d.kept
                     operator(mbus4_hstore.||) mbus4_hstore.hstore(
                         'seenby'::pg_catalog.text,
                         pg_catalog.array_append(mbus4.array_of(d.seen), pg_catalog.current_database()::pg_catalog.text)::pg_catalog.text
                     )
             end as headers
         offset 0
     ) h
     cross join lateral (
         select case
             when h.no_way is null
                 then case
                     when pg_catalog.pg_try_advisory_xact_lock_shared(1835169140, pg_catalog.hashtext(d.queue) & 63)
                         then pg_catalog.nextval('mbus4.post_id')
                     when pg_catalog.nextval('mbus4.message_id') > 0 then pg_catalog.nextval('mbus4.post_id')
                 end
         end as new
         offset 0
     ) i
     cross join lateral (select case when i.new > 0 then pg_catalog.clock_timestamp() end as now offset 0) t
     cross join lateral (
         select case
             when h.no_way is null
                 then array(
                     select c.id
                     from mbus4.consumer c
                     where c.qname = d.queue
                         and c.target is null
                         and case
                             when d.consumer is not null then c.name = d.consumer
                             when c.selector_id is null then true
                             else mbus4.receives(
                                 c, d.queue, i.new, t.now, d.own_iid, null, m.expires, h.headers, m.properties, m.data, null,
                                 false, null
                             )
                         end
                 )
         end as ids
         offset 0
     ) g
     cross join lateral (
         select case
             when h.no_way is not null then h.no_way
             when pg_catalog.cardinality(g.ids) = 0 then case when d.consumer is null then 'unwanted' else 'gone' end
             when not exists (
                 select
                 from pg_catalog.unnest(g.ids) c (id)
                 where not exists (
                     select
                     from mbus4.message o
                     where o.iid = d.own_iid
                         and o.consumer_id = c.id
                         and (
                             o.expires is null
                                 or o.expires > pg_catalog.clock_timestamp()
                                 or o.consumer_id = 1
                                 or not (
                                     not (
                                         o.available_at > pg_catalog.clock_timestamp()
                                             and o.available_at < 'infinity'
                                             and mbus4.is_leased(o.available_at, o.delayed_until, o.headers)
                                     )
                                 )
                         )
                 )
             )
                 then 'taken'
         end as stays
         offset 0
     ) w
     where $4 is null or l.can_go < $4
 ),
 going as materialized (
     select l.*, exists (select from pg_catalog.unnest(l.deps) d (iid) cross join lateral mbus4.undelivered(d.iid)) as parked
     from looked l
     where l.n > 0 and l.stays is null
 ),
 old as (
     delete from mbus4.message m using going g
     where m.iid = g.iid
         and m.consumer_id + 0 = any(g.ids)
         and m.expires <= g.now
         and m.consumer_id <> 1
         and not (
             m.available_at > pg_catalog.clock_timestamp()
                 and m.available_at < 'infinity'
                 and mbus4.is_leased(m.available_at, m.delayed_until, m.headers)
         )
     returning 1
 ),
 stored as (
     insert into mbus4.message (id, consumer_id, available_at, added, iid, expires, headers, properties, data, after)
     select g.new, c.id,
         case when g.parked then 'infinity' else g.now end,
         g.now, g.iid, g.expires, g.headers, g.properties, g.data,
         case when pg_catalog.cardinality(g.deps) > 0 then g.deps end
     from going g
     cross join pg_catalog.unnest(g.ids) c (id)
     where (select pg_catalog.count(*) from old) >= 0
         and (
             select 1
             from mbus4.places_of_iid(g.iid) i
             join mbus4.message o on o.consumer_id = c.id and o.available_at = i.available_at and o.id = i.id
             where i.queue = g.queue and o.iid is null
             for key share of o
         ) is null
     on conflict (iid, consumer_id)
     where iid is not null do nothing
     returning id, consumer_id
 ),
 went as materialized (select g.place from going g where case when g.new in (select s.id from stored s) then true end),
 waits as (
     insert into mbus4.waiting (dep, consumer_id, id)
     select d.dep, c.id, g.new
     from going g
     cross join pg_catalog.unnest(g.deps) d (dep)
     cross join pg_catalog.unnest(g.ids) c (id)
     where g.parked and d.dep is not null and case when (g.new, c.id) in (select s.id, s.consumer_id from stored s) then true end
     on conflict do nothing
 ),
 removed as (delete from mbus4.message m where m.ctid = any(array(select w.place from went w))),
 counted as (
     select pg_catalog.count(*) filter (where l.n > 0) as looked,
         pg_catalog.count(*) filter (where l.stays = 'gone') as gone,
         pg_catalog.count(*) filter (where l.stays = 'expired') as expired,
         pg_catalog.count(*) filter (where l.stays = 'unwanted') as unwanted,
         pg_catalog.count(*) filter (where l.n > 0 and coalesce(l.stays, 'taken') = 'taken') - g.went as taken,
         g.went
     from looked l
     cross join (select pg_catalog.count(*) as went from went) g
     group by g.went
 ),
 told as (
     select c.looked, c.went,
         nullif(
             pg_catalog.concat_ws(
                 ', ',
                 nullif(c.gone, 0)::pg_catalog.text || ' whose queue or consumer is gone',
                 nullif(c.expired, 0)::pg_catalog.text || ' that expired',
                 nullif(c.unwanted, 0)::pg_catalog.text || ' that no consumer selects',
                 nullif(c.taken, 0)::pg_catalog.text || ' whose iid the consumer has again or whose headers cannot be read'
             ),
             ''
         ) as staying
     from counted c
 )
 select case
     when t.looked = 0
         and $2 is not null
         and not exists (select from mbus4.queue q where q.qname = pg_catalog.lower($2 collate "C"))
         then pg_catalog.left(pg_catalog.format('mbus4-error '||$1||' 42704 queue "%s" does not exist', $2), 2000)::int
     when t.staying is null
         or pg_catalog.to_tsquery(
             'simple',
             pg_catalog.translate(
                 (
                     'x' || pg_catalog.encode(
                         pg_catalog.convert_to('m4 '||$1||' ' || '00000 messages that stay in dmq: ' || t.staying, 'UTF8'), 'hex'
                     )
                 )::pg_catalog.varbit::pg_catalog.text,
                 '01', E' \t'
             )
         ) is not null
         then t.went
 end
 from told t
$mbus4$;
-- where there is in the database:
create or replace function mbus4.at_alter_consumer_fd6b196f(
    call text, qname text, cname text, max_attempts int, backoff interval, max_backoff interval, jitter float8, lease interval
) returns bigint language sql volatile as $mbus4$
 with old as materialized (
     select c.id, coalesce($5, c.backoff) as backoff, coalesce($6, c.max_backoff) as max_backoff
     from mbus4.consumer c
     where c.qname = pg_catalog.lower($2 collate "C") and c.name = pg_catalog.lower($3 collate "C")
     for update
 ),
 wrong as materialized (
     select case
         when p.id is null
             and exists (select from mbus4.queue q where q.qname = pg_catalog.lower($2 collate "C"))
             then pg_catalog.format(
                 'mbus4-error '||$1||' 42704 queue "%s" has no consumer %s', $2, coalesce('"' || $3 || '"', 'null')
             )
         when p.id is null
             then pg_catalog.format('mbus4-error '||$1||' 42704 queue %s does not exist', coalesce('"' || $2 || '"', 'null'))
         when $4 not between 1 and 1000000
             then pg_catalog.format('mbus4-error '||$1||' 22023 max_attempts must be between 1 and 1000000, and is %s', $4)
         when $5 not between interval '0'
             and interval '365 days'
             then pg_catalog.format('mbus4-error '||$1||' 22023 backoff must be between 0 and 365 days, and is %s', $5)
         when $6 not between interval '0'
             and interval '365 days'
             then pg_catalog.format('mbus4-error '||$1||' 22023 max_backoff must be between 0 and 365 days, and is %s', $6)
         when coalesce(p.backoff, interval '1 second') > coalesce(p.max_backoff, interval '1 hour')
             then pg_catalog.format(
                 'mbus4-error '||$1||' 22023 backoff must not be longer than max_backoff, and is %s to %s',
                 coalesce(p.backoff, interval '1 second'),
                 coalesce(p.max_backoff, interval '1 hour')
             )
         when not $7 between 0::pg_catalog.float8
             and 1::pg_catalog.float8
             then pg_catalog.format('mbus4-error '||$1||' 22023 jitter must be between 0 and 1, and is %s', $7)
         when $8 not between interval '1 millisecond'
             and interval '365 days'
             then pg_catalog.format('mbus4-error '||$1||' 22023 lease must be between 1 ms and 365 days, and is %s', $8)
     end as what
     from (select) one
     left join old p on true
 ),
 changed as (
     update mbus4.consumer c
     set max_attempts = coalesce($4, c.max_attempts),
         backoff = o.backoff, max_backoff = o.max_backoff, jitter = coalesce($7, c.jitter), lease = coalesce($8, c.lease)
     from (
         select case when w.what is null then o.id else pg_catalog.left(w.what, 2000)::int end as id, o.backoff, o.max_backoff
         from wrong w
         left join old o on true
         offset 0
     ) o
     where c.id = o.id
     returning 1
 )
 select pg_catalog.count(*)
 from changed
$mbus4$
