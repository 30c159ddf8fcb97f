# A selector that is a literal becomes a part of the statement.
select * from mbus4.dyn_consume('orders', '(t.data->''n'')::int > 5')
----
with mbus4_call1_args(n, "qname", "selector", "cname") as (
    select 1::bigint, ('orders')::pg_catalog.text, ('(t.data->''n'')::int > 5')::pg_catalog.text, 'default'::pg_catalog.text
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
                    and (
                        select case when ((t.data->'n')::int > 5) then 0 end
                        from (
                            select x.id, x.added::timestamp as added,
                                coalesce(
                                    x.iid,
                                    pg_catalog.lower((('orders')::pg_catalog.text) collate "C") || '.' || pg_catalog.current_database()::pg_catalog.text || '.' || case
                                        when x.available_at < '2038-01-01Z'
                                            then (pg_catalog.date_part('epoch', x.available_at) * 1000000::pg_catalog.float8)::bigint::pg_catalog.text
                                        when x.available_at < '2200-01-01Z'
                                            then (extract(epoch from x.available_at) * 1000000::numeric)::bigint::pg_catalog.text
                                        else ''
                                    end || x.id::pg_catalog.text
                                ) as iid,
                                coalesce(x.delayed_until, x.added)::timestamp as delayed_until,
                                x.expires::timestamp as expires, coalesce(x.received, '{}') as received,
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
                                                    then x.added::timestamp::pg_catalog.text
                                                else mbus4.time_text(x.added::timestamp)
                                            end,
                                            'destination',
                                            pg_catalog.lower((('orders')::pg_catalog.text) collate "C")
                                        ],
                                        case
                                            when pg_catalog.starts_with(
                                                pg_catalog.lower((('orders')::pg_catalog.text) collate "C"), 'temp.'
                                            )
                                                then array['tempq', pg_catalog.lower((('orders')::pg_catalog.text) collate "C")]
                                        end
                                    )
                                )
                                    operator(mbus4_hstore.||) coalesce(
                                        x.headers
                                            operator(mbus4_hstore.||) case
                                                when x.consumer_id = 1 and mbus4_hstore.exist(x.headers, 'destination') then ''
                                                else mbus4_hstore.hstore(
                                                    pg_catalog.array_cat(
                                                        array[
                                                            'destination',
                                                            pg_catalog.lower((('orders')::pg_catalog.text) collate "C")
                                                        ],
                                                        case
                                                            when pg_catalog.starts_with(
                                                                pg_catalog.lower((('orders')::pg_catalog.text) collate "C"),
                                                                'temp.'
                                                            )
                                                                then array[
                                                                    'tempq',
                                                                    pg_catalog.lower((('orders')::pg_catalog.text) collate "C")
                                                                ]
                                                        end
                                                    )
                                                )
                                            end,
                                        ''
                                    ) as headers,
                                x.properties, x.data
                        ) t
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
        )::mbus4.qt_model as dyn_consume
    from mbus4_call1_taken d
)
select *
from (select (m.r).* from (select "dyn_consume" as r from mbus4_call1) m) as "dyn_consume";
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

# Any other is known to the server only.
select * from mbus4.dyn_consume('orders', $1)
----
with mbus4_call1_args(n, "qname", "selector", "cname") as (
    select 1::bigint, ('orders')::pg_catalog.text, ($1)::pg_catalog.text, 'default'::pg_catalog.text
),
mbus4_call1_consumer as materialized (
    select k.*,
        array(
            select w.word::pg_catalog.text::pg_catalog.tid
            from pg_catalog.ts_stat(mbus4.candidates_sql(k.queue, k.id, k.low, k.now, k.selector, 16)) w
        ) as tids
    from (
        select coalesce(
            (case when c.paused is null then c.id else -c.id end),
            mbus4.at_no_consumer_56bdd364('1 _session_secret_', a.qname, a.cname)
        ) as id,
            pg_catalog.clock_timestamp() as now,
            pg_catalog.to_timestamp(
                coalesce(
                    pg_catalog.pg_sequence_last_value(
                        ('mbus4.hint_' || (coalesce(c.hint, c.id % 128::bigint))::pg_catalog.text)::pg_catalog.regclass
                    ),
                    0
                )::pg_catalog.float8 / 1000000.0::pg_catalog.float8
            ) as low,
            c.qname as queue, a.selector
        from mbus4_call1_args a
        left join mbus4.consumer c on c.qname = pg_catalog.lower(a.qname collate "C")
            and c.name = pg_catalog.lower(a.cname collate "C")
        offset 0
    ) k
),
mbus4_call1_more as materialized (
    select mbus4.candidates(k.queue, k.id, k.low, k.now, k.selector, 128) as tids
    from mbus4_call1_consumer k
    where pg_catalog.cardinality(k.tids) = 16
),
mbus4_call1_taken as (
    delete from mbus4.message m
    where m.ctid = any(
        coalesce(
            (
                select array[x.ctid]
                from mbus4.message x
                where x.ctid = any((select k.tids from mbus4_call1_consumer k)::pg_catalog.tid[])
                    and x.consumer_id is not distinct from (select k.id from mbus4_call1_consumer k)
                    and (
                        case
                            when x.expires <= (select k.now from mbus4_call1_consumer k) and x.consumer_id <> 1 then null
                            when x.after is not null and mbus4.awaits_delivery(x.after) then null
                            else 0
                        end
                    ) is not null
                order by x.available_at, x.id
                limit 1
                for update skip locked
            ),
            (
                select array[x.ctid]
                from mbus4.message x
                where x.ctid = any((select w.tids from mbus4_call1_more w)::pg_catalog.tid[])
                    and x.consumer_id is not distinct from (select k.id from mbus4_call1_consumer k)
                    and (
                        case
                            when x.expires <= (select k.now from mbus4_call1_consumer k) and x.consumer_id <> 1 then null
                            when x.after is not null and mbus4.awaits_delivery(x.after) then null
                            else 0
                        end
                    ) is not null
                order by x.available_at, x.id
                limit 1
                for update skip locked
            ),
            (
                select array[x.ctid]
                from mbus4.message x
                where x.ctid = any(
                    (
                        select mbus4.candidates(k.queue, k.id, k.low, k.now, k.selector, 1000000000)
                        from mbus4_call1_consumer k, mbus4_call1_more w
                        where pg_catalog.cardinality(w.tids) = 128
                    )::pg_catalog.tid[]
                )
                    and x.consumer_id is not distinct from (select k.id from mbus4_call1_consumer k)
                    and (
                        case
                            when x.expires <= (select k.now from mbus4_call1_consumer k) and x.consumer_id <> 1 then null
                            when x.after is not null and mbus4.awaits_delivery(x.after) then null
                            else 0
                        end
                    ) is not null
                order by x.available_at, x.id
                limit 1
                for update skip locked
            )
        )
    )
    returning m.id, m.consumer_id, m.available_at, m.added, m.delayed_until, m.expires, m.received, m.headers, m.properties,
        m.data,
        coalesce(
            m.iid,
            (select k.queue from mbus4_call1_consumer k) || '.' || pg_catalog.current_database()::pg_catalog.text || '.' || case
                when m.available_at < '2038-01-01Z'
                    then (pg_catalog.date_part('epoch', m.available_at) * 1000000::pg_catalog.float8)::bigint::pg_catalog.text
                when m.available_at < '2200-01-01Z'
                    then (extract(epoch from m.available_at) * 1000000::numeric)::bigint::pg_catalog.text
                else ''
            end || m.id::pg_catalog.text
        ) as iid
),
mbus4_call1 as (
    select 1::bigint as n,
        row(
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
        )::mbus4.qt_model as dyn_consume
    from mbus4_call1_taken d, mbus4_call1_consumer k
)
select *
from (select (m.r).* from (select "dyn_consume" as r from mbus4_call1) m) as "dyn_consume";
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
select mbus4.dyn_consume('orders', w.selector) from wishes w
----
with mbus4_rows1 as (
    select pg_catalog.row_number() over () as n, s.* from (select null, (w.selector)::pg_catalog.text from wishes w) as s(h1, h2)
),
mbus4_call1_args(n, "qname", "selector", "cname") as (
    select mbus4_rows1.n, ('orders')::pg_catalog.text, mbus4_rows1.h2, 'default'::pg_catalog.text from mbus4_rows1
),
mbus4_call1_consumer as materialized (
    select a.n, c.qname as queue,
        coalesce(
            (case when c.paused is null then c.id else -c.id end),
            mbus4.at_no_consumer_56bdd364('1 _session_secret_', a.qname, a.cname)
        ) as id,
        coalesce(c.hint, c.id % 128::bigint) as hint,
        coalesce(a.selector, '') as selector
    from mbus4_call1_args a
    left join lateral (
        select *
        from mbus4.consumer c
        where c.qname = pg_catalog.lower(a.qname collate "C") and c.name = pg_catalog.lower(a.cname collate "C")
        offset 0
    ) c on true
),
mbus4_call1_wanted as materialized (
    select k.id, k.queue, k.selector, pg_catalog.count(*) as amt, pg_catalog.clock_timestamp() as now,
        pg_catalog.to_timestamp(
            coalesce(pg_catalog.pg_sequence_last_value(('mbus4.hint_' || (k.hint)::pg_catalog.text)::pg_catalog.regclass), 0)::pg_catalog.float8 / 1000000.0::pg_catalog.float8
        ) as low
    from mbus4_call1_consumer k
    group by k.id, k.queue, k.hint, k.selector
),
mbus4_call1_candidates as materialized (
    select t.*, mbus4.candidates(t.queue, t.id, t.low, t.now, t.selector, t.amt + 16) as tids from mbus4_call1_wanted t
),
mbus4_call1_chosen as materialized (
    select e.id, e.selector, x.tid
    from mbus4_call1_candidates e
    cross join lateral (
        select m.ctid as tid
        from mbus4.message m
        where m.ctid = any(e.tids)
            and m.consumer_id is not distinct from e.id
            and (
                case
                    when m.expires <= e.now and m.consumer_id <> 1 then null
                    when m.after is not null and mbus4.awaits_delivery(m.after) then null
                    else 0
                end
            ) is not null
        order by m.available_at, m.id
        limit e.amt
        for update skip locked
    ) x
),
mbus4_call1_further as materialized (
    select e.id, e.selector, x.tid
    from (
        select e.*,
            e.amt - (select pg_catalog.count(*) from mbus4_call1_chosen s where s.id = e.id and s.selector = e.selector) as lacking
        from mbus4_call1_candidates e
    ) e
    cross join lateral (select mbus4.candidates(e.queue, e.id, e.low, e.now, e.selector, 1000000000) as tids offset 0) c
    cross join lateral (
        select m.ctid as tid
        from mbus4.message m
        where m.ctid = any(c.tids)
            and m.consumer_id is not distinct from e.id
            and (
                case
                    when m.expires <= e.now and m.consumer_id <> 1 then null
                    when m.after is not null and mbus4.awaits_delivery(m.after) then null
                    else 0
                end
            ) is not null
            and m.ctid <> all(array(select s.tid from mbus4_call1_chosen s))
        order by m.available_at, m.id
        limit e.lacking
        for update skip locked
    ) x
    where e.lacking > 0 and pg_catalog.cardinality(e.tids) = e.amt + 16
),
mbus4_call1_picked as materialized (
    select distinct on (p.tid) p.tid, p.selector
    from (select * from mbus4_call1_chosen union all select * from mbus4_call1_further) p
),
mbus4_call1_taken as (
    delete from mbus4.message m
    where m.ctid = any(array(select p.tid from mbus4_call1_picked p))
    returning m.ctid as tid, m.id, m.consumer_id, m.available_at, m.added, m.delayed_until, m.expires, m.received, m.headers,
        m.properties, m.data,
        coalesce(
            m.iid,
            (select t.queue from mbus4_call1_wanted t where t.id = m.consumer_id limit 1) || '.' || pg_catalog.current_database()::pg_catalog.text || '.' || case
                when m.available_at < '2038-01-01Z'
                    then (pg_catalog.date_part('epoch', m.available_at) * 1000000::pg_catalog.float8)::bigint::pg_catalog.text
                when m.available_at < '2200-01-01Z'
                    then (extract(epoch from m.available_at) * 1000000::numeric)::bigint::pg_catalog.text
                else ''
            end || m.id::pg_catalog.text
        ) as iid
),
mbus4_call1_placed as (
    select d.*, p.selector,
        pg_catalog.row_number() over (partition by d.consumer_id, p.selector order by d.available_at, d.id) as place
    from mbus4_call1_taken d
    join mbus4_call1_picked p on p.tid = d.tid
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
        )::mbus4.qt_model as dyn_consume,
        d.place as o
    from (
        select k.n, k.id, k.queue, k.selector, pg_catalog.row_number() over (partition by k.id, k.selector order by k.n) as place
        from mbus4_call1_consumer k
    ) r
    join mbus4_call1_placed d on d.consumer_id = r.id and d.selector = r.selector and d.place = r.place
    order by r.n
)
select mbus4_call1."dyn_consume" as "dyn_consume"
from mbus4_call1
order by mbus4_call1.n, mbus4_call1.o;
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
