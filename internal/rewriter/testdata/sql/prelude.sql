# A statement before the client's does the work.
select mbus4.run_on_orders('insert into done select ($1).iid')
---- unprepared
do $mbus4$
declare
    mbus4_text pg_catalog.text;
    mbus4_message mbus4.qt_model;
    mbus4_done int := 0;
    mbus4_error pg_catalog.text;
    mbus4_stopped boolean := false;
    mbus4_retries constant boolean := exists (
        select
        from mbus4.consumer c
        where c.qname = pg_catalog.lower('orders' collate "C") and c.name = 'default' and c.max_attempts is not null and c.id <> 1
    );
    mbus4_iid pg_catalog.text;
    mbus4_checked boolean := exists (select from pg_catalog.pg_trigger t where t.tgdeferrable);
    mbus4_sound boolean;
begin
    mbus4_text := 'insert into done select ($1).iid';
    if mbus4_checked then
        begin
            mbus4_checked := false;
            set constraints all immediate;
            mbus4_checked := true;
            raise exception 'undone';
        exception when others or assert_failure then
            null;
        end;
    end if;
    begin
        for mbus4_message in
        with mbus4_call_args (n, "qname", "cname", "amt") as (
            select 1::bigint, 'orders'::pg_catalog.text, 'default'::pg_catalog.text, 100
        ),
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
            returning m.id, m.consumer_id, m.available_at, m.added, m.delayed_until, m.expires, m.received, m.headers,
                m.properties, m.data, m.iid
        ),
        mbus4_call as (
            select 1::bigint as n,
                row(
                    d.id, d.added::timestamp,
                    coalesce(
                        d.iid,
                        (select pg_catalog.lower(a.qname collate "C") from mbus4_call_args a) || '.' || pg_catalog.current_database()::pg_catalog.text || '.' || case
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
                                (select pg_catalog.lower(a.qname collate "C") from mbus4_call_args a),
                                'seenby',
                                array[pg_catalog.current_database()::pg_catalog.text]::pg_catalog.text,
                                'enqueue_time',
                                case
                                    when pg_catalog.starts_with(pg_catalog.current_setting('datestyle'), 'ISO')
                                        then d.added::timestamp::pg_catalog.text
                                    else mbus4.time_text(d.added::timestamp)
                                end,
                                'destination',
                                (select pg_catalog.lower(a.qname collate "C") from mbus4_call_args a)
                            ],
                            case
                                when pg_catalog.starts_with(
                                    (select pg_catalog.lower(a.qname collate "C") from mbus4_call_args a), 'temp.'
                                )
                                    then array['tempq', (select pg_catalog.lower(a.qname collate "C") from mbus4_call_args a)]
                            end
                        )
                    )
                        operator(mbus4_hstore.||) coalesce(
                            d.headers
                                operator(mbus4_hstore.||) case
                                    when d.consumer_id = 1 and mbus4_hstore.exist(d.headers, 'destination') then ''
                                    else mbus4_hstore.hstore(
                                        pg_catalog.array_cat(
                                            array[
                                                'destination',
                                                (select pg_catalog.lower(a.qname collate "C") from mbus4_call_args a)
                                            ],
                                            case
                                                when pg_catalog.starts_with(
                                                    (select pg_catalog.lower(a.qname collate "C") from mbus4_call_args a), 'temp.'
                                                )
                                                    then array[
                                                        'tempq',
                                                        (select pg_catalog.lower(a.qname collate "C") from mbus4_call_args a)
                                                    ]
                                            end
                                        )
                                    )
                                end,
                            ''
                        ),
                    d.properties, d.data
                )::mbus4.qt_model as consumen
            from (select * from mbus4_call_taken d order by d.available_at, d.id offset 0) d
        )
        select (mbus4_call.consumen).*
        from mbus4_call
        loop
            begin
                execute mbus4_text using mbus4_message;
                if mbus4_checked then
                    begin
                        mbus4_sound := false;
                        set constraints all immediate;
                        mbus4_sound := true;
                        raise exception 'undone';
                    exception when others or assert_failure then
                        if not mbus4_sound then
                            raise;
                        end if;
                    end;
                end if;
                mbus4_done := mbus4_done + 1;
            exception when others or assert_failure then
                get stacked diagnostics mbus4_error = message_text;
                mbus4_error := coalesce(
                    pg_catalog.substring(mbus4_error, 'mbus4-error [0-9]+ _session_secret_ [0-9A-Z]{5} (.*)"$'), mbus4_error
                );
            end;
            if mbus4_error is not null then
                mbus4_stopped := mbus4_done = 0;
                if mbus4_stopped then
                    raise exception 'undone';
                elsif mbus4_retries then
                    perform mbus4.at_retry_698f4eb1(
                        '1 _session_secret_', row(null, mbus4_message)::mbus4.retry_target, mbus4_error, null, null
                    );
                else
                    with mbus4_call_args (n, "qname", "data", "headers", "properties", "delayed_until", "expires", "iid") as (
                        select 1::bigint, 'dmq'::pg_catalog.text, (mbus4_message).data,
                            (mbus4_message).headers
                                operator(mbus4_hstore.||) mbus4_hstore.hstore(
                                    array[
                                        'dmq.added',
                                        mbus4.time_text(pg_catalog.clock_timestamp()::timestamp),
                                        'dmq.error', mbus4_error
                                    ]
                                ),
                            (mbus4_message).properties, (mbus4_message).delayed_until, (mbus4_message).expires,
                            (mbus4_message).iid
                    ),
                    mbus4_call_posted as materialized (
                        select w.*,
                            case when w.delayed_until > w.added and w.queue <> 'dmq' then w.delayed_until else w.added end as at,
                            case
                                when (
                                    w.headers is null
                                        or not w.headers operator(mbus4_hstore.?|) array['seenby', 'consume_after', 'Redeploy']
                                )
                                    and (
                                        w.given is null
                                            or (
                                                pg_catalog.strpos(
                                                    w.given, '.' || pg_catalog.current_database()::pg_catalog.text || '.'
                                                ) = 0
                                                    or w.given operator(pg_catalog.!~) '[.][1-9][0-9]{16,}$'
                                            )
                                            and not exists (select from mbus4.message m where m.iid = w.given)
                                    )
                                    then null
                                else mbus4.at_post_given_361e6977(
                                    '1 _session_secret_', w.queue, w.id, w.added, w.given, w.delayed_until, w.expires, w.headers,
                                    w.properties, w.data, null, false
                                )
                            end as done
                        from (
                            select a.n,
                                case
                                    when pg_catalog.pg_try_advisory_xact_lock_shared(
                                        1835169140, pg_catalog.hashtext(pg_catalog.lower(a.qname collate "C")) & 63
                                    )
                                        then pg_catalog.nextval('mbus4.post_id')
                                    when pg_catalog.nextval('mbus4.message_id') > 0 then pg_catalog.nextval('mbus4.post_id')
                                end as id,
                                pg_catalog.clock_timestamp() as added,
                                pg_catalog.lower(a.qname collate "C") as queue,
                                a.iid as given, a.headers as headers,
                                a.delayed_until::pg_catalog.timestamptz as delayed_until,
                                a.expires::pg_catalog.timestamptz as expires,
                                a.properties, a.data as data
                            from mbus4_call_args a
                            offset 0
                        ) w
                        offset 0
                    ),
                    mbus4_call_stored as (
                        insert into mbus4.message (
                            id, consumer_id, available_at, added, iid, delayed_until, expires, headers, properties, data
                        )
                        select p.id, consumer_id, p.at, p.added,
                            coalesce(
                                p.given,
                                case
                                    when case
                                        when p.delayed_until > p.added and p.queue <> 'dmq' then p.delayed_until
                                        else p.added
                                    end >= '2200-01-01Z'
                                        then p.queue || '.' || pg_catalog.current_database()::pg_catalog.text || '.' || p.id::pg_catalog.text
                                end
                            ),
                            p.delayed_until, p.expires, p.headers, p.properties, p.data
                        from mbus4_call_posted p
                        left join lateral (
                            select c.id as consumer_id,
                                case when c.selector_id is not null or c.target is not null then c end as rest
                            from mbus4.consumer c
                            where c.qname = p.queue
                            offset 0
                        ) c on true
                        where p.done is null
                            and coalesce(
                                case
                                    when consumer_id is not null
                                        then rest is null
                                        or case
                                            when (rest).target is null
                                                and not (rest).general
                                                then mbus4.has_asked(rest, p.queue, p.added, p.headers, p.properties, p.data) is true
                                            else mbus4.receives(
                                                rest, p.queue, p.id, p.added, coalesce(p.given), p.delayed_until, p.expires,
                                                p.headers, p.properties, p.data, null, false, null
                                            )
                                        end
                                end,
                                mbus4.at_post_given_361e6977(
                                    '1 _session_secret_', p.queue, p.id, p.added, null, p.delayed_until, p.expires, p.headers,
                                    p.properties, p.data, null, false
                                ) is null
                            )
                    ),
                    mbus4_call as (
                        select p.n,
                            coalesce(
                                p.done, p.given,
                                p.queue || '.' || pg_catalog.current_database()::pg_catalog.text || '.' || case
                                    when p.at < '2038-01-01Z'
                                        then (pg_catalog.date_part('epoch', p.at) * 1000000::pg_catalog.float8)::bigint::pg_catalog.text
                                    when p.at < '2200-01-01Z'
                                        then (extract(epoch from p.at) * 1000000::numeric)::bigint::pg_catalog.text
                                    else ''
                                end || p.id::pg_catalog.text
                            ) as post
                        from mbus4_call_posted p
                    )
                    select mbus4_call.post into mbus4_iid
                    from mbus4_call;
                end if;
                mbus4_error := null;
            end if;
        end loop;
    exception when others then
        if not mbus4_stopped then
            raise;
        end if;
    end;
    if mbus4_stopped then
        with mbus4_call_args (n, "qname", "cname", "msgid") as (
            select 1::bigint, 'orders'::pg_catalog.text, 'default'::pg_catalog.text, mbus4_message.iid
        ),
        mbus4_call_consumer as materialized (
            select a.n, a.msgid as msgid, c.qname as queue,
                coalesce(c.id, mbus4.at_no_consumer_56bdd364('1 _session_secret_', a.qname, a.cname)) as id
            from mbus4_call_args a
            left join mbus4.consumer c on c.qname = pg_catalog.lower(a.qname collate "C")
                and c.name = pg_catalog.lower(a.cname collate "C")
        ),
        mbus4_call_place as materialized (
            select p.available_at, p.id
            from mbus4_call_consumer k
            cross join lateral mbus4.places_of_iid(k.msgid) p
            where p.queue = k.queue
        ),
        mbus4_call_taken_by_iid as (
            delete from mbus4.message m
            where m.iid is not null
                and (m.iid, m.consumer_id) between (
                    (select k.msgid from mbus4_call_consumer k), (select k.id from mbus4_call_consumer k)
                ) and ((select k.msgid from mbus4_call_consumer k), (select k.id from mbus4_call_consumer k))
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
        mbus4_call_taken_by_place as (
            delete from mbus4.message m
            where m.consumer_id = (select k.id from mbus4_call_consumer k)
                and m.available_at = (select p.available_at from mbus4_call_place p)
                and m.id = (select p.id from mbus4_call_place p)
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
                (select k.msgid from mbus4_call_consumer k) as iid,
                m.delayed_until, m.expires, m.received, m.headers, m.properties, m.data, m.after
        ),
        mbus4_call_taken as (select * from mbus4_call_taken_by_iid union all select * from mbus4_call_taken_by_place),
        mbus4_call_enforced as (
            insert into mbus4.waiting (dep, consumer_id, id)
            select null, k.id, null
            from mbus4_call_consumer k
            where pg_catalog.num_nulls(k.n) > 0
        ),
        mbus4_call as (
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
                                                    case
                                                        when pg_catalog.starts_with(k.queue, 'temp.') then array['tempq', k.queue]
                                                    end
                                                )
                                            )
                                        end,
                                    ''
                                ),
                            d.properties, d.data
                        )::mbus4.qt_model
                end as take_from
            from mbus4_call_consumer k
            left join mbus4_call_taken d on true
        )
        select (mbus4_call.take_from).* into mbus4_message
        from mbus4_call;
        if mbus4_message.iid is null then
            null;
        elsif mbus4_retries then
            perform mbus4.at_retry_698f4eb1(
                '1 _session_secret_', row(null, mbus4_message)::mbus4.retry_target, mbus4_error, null, null
            );
        else
            with mbus4_call_args (n, "qname", "data", "headers", "properties", "delayed_until", "expires", "iid") as (
                select 1::bigint, 'dmq'::pg_catalog.text, (mbus4_message).data,
                    (mbus4_message).headers
                        operator(mbus4_hstore.||) mbus4_hstore.hstore(
                            array['dmq.added', mbus4.time_text(pg_catalog.clock_timestamp()::timestamp), 'dmq.error', mbus4_error]
                        ),
                    (mbus4_message).properties, (mbus4_message).delayed_until, (mbus4_message).expires, (mbus4_message).iid
            ),
            mbus4_call_posted as materialized (
                select w.*,
                    case when w.delayed_until > w.added and w.queue <> 'dmq' then w.delayed_until else w.added end as at,
                    case
                        when (
                            w.headers is null
                                or not w.headers operator(mbus4_hstore.?|) array['seenby', 'consume_after', 'Redeploy']
                        )
                            and (
                                w.given is null
                                    or (
                                        pg_catalog.strpos(w.given, '.' || pg_catalog.current_database()::pg_catalog.text || '.') = 0
                                            or w.given operator(pg_catalog.!~) '[.][1-9][0-9]{16,}$'
                                    )
                                    and not exists (select from mbus4.message m where m.iid = w.given)
                            )
                            then null
                        else mbus4.at_post_given_361e6977(
                            '1 _session_secret_', w.queue, w.id, w.added, w.given, w.delayed_until, w.expires, w.headers,
                            w.properties, w.data, null, false
                        )
                    end as done
                from (
                    select a.n,
                        case
                            when pg_catalog.pg_try_advisory_xact_lock_shared(
                                1835169140, pg_catalog.hashtext(pg_catalog.lower(a.qname collate "C")) & 63
                            )
                                then pg_catalog.nextval('mbus4.post_id')
                            when pg_catalog.nextval('mbus4.message_id') > 0 then pg_catalog.nextval('mbus4.post_id')
                        end as id,
                        pg_catalog.clock_timestamp() as added,
                        pg_catalog.lower(a.qname collate "C") as queue,
                        a.iid as given, a.headers as headers,
                        a.delayed_until::pg_catalog.timestamptz as delayed_until,
                        a.expires::pg_catalog.timestamptz as expires,
                        a.properties, a.data as data
                    from mbus4_call_args a
                    offset 0
                ) w
                offset 0
            ),
            mbus4_call_stored as (
                insert into mbus4.message (
                    id, consumer_id, available_at, added, iid, delayed_until, expires, headers, properties, data
                )
                select p.id, consumer_id, p.at, p.added,
                    coalesce(
                        p.given,
                        case
                            when case
                                when p.delayed_until > p.added and p.queue <> 'dmq' then p.delayed_until
                                else p.added
                            end >= '2200-01-01Z'
                                then p.queue || '.' || pg_catalog.current_database()::pg_catalog.text || '.' || p.id::pg_catalog.text
                        end
                    ),
                    p.delayed_until, p.expires, p.headers, p.properties, p.data
                from mbus4_call_posted p
                left join lateral (
                    select c.id as consumer_id, case when c.selector_id is not null or c.target is not null then c end as rest
                    from mbus4.consumer c
                    where c.qname = p.queue
                    offset 0
                ) c on true
                where p.done is null
                    and coalesce(
                        case
                            when consumer_id is not null
                                then rest is null
                                or case
                                    when (rest).target is null
                                        and not (rest).general
                                        then mbus4.has_asked(rest, p.queue, p.added, p.headers, p.properties, p.data) is true
                                    else mbus4.receives(
                                        rest, p.queue, p.id, p.added, coalesce(p.given), p.delayed_until, p.expires, p.headers,
                                        p.properties, p.data, null, false, null
                                    )
                                end
                        end,
                        mbus4.at_post_given_361e6977(
                            '1 _session_secret_', p.queue, p.id, p.added, null, p.delayed_until, p.expires, p.headers,
                            p.properties, p.data, null, false
                        ) is null
                    )
            ),
            mbus4_call as (
                select p.n,
                    coalesce(
                        p.done, p.given,
                        p.queue || '.' || pg_catalog.current_database()::pg_catalog.text || '.' || case
                            when p.at < '2038-01-01Z'
                                then (pg_catalog.date_part('epoch', p.at) * 1000000::pg_catalog.float8)::bigint::pg_catalog.text
                            when p.at < '2200-01-01Z' then (extract(epoch from p.at) * 1000000::numeric)::bigint::pg_catalog.text
                            else ''
                        end || p.id::pg_catalog.text
                    ) as post
                from mbus4_call_posted p
            )
            select mbus4_call.post into mbus4_iid
            from mbus4_call;
        end if;
    end if;
    perform pg_catalog.set_config('mbus4.result_1', mbus4_done::pg_catalog.text, true);
end
$mbus4$;
select (pg_catalog.current_setting('mbus4.result_' || (1)::pg_catalog.text)::pg_catalog.int4) as "run_on_orders";
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
create or replace function mbus4.at_post_given_361e6977(
    call text, queue text, id bigint, added timestamptz, iid text, delayed_until timestamptz, expires timestamptz,
    headers mbus4_hstore.hstore, properties mbus4_hstore.hstore, data mbus4_hstore.hstore, consumers bigint[], waits boolean
) returns text language plpgsql volatile cost 1
set plan_cache_mode = force_generic_plan
set jit = off as $mbus4$ #variable_conflict use_column declare mbus4_dmq constant boolean := $2 is not distinct from 'dmq'; mbus4_headers mbus4_hstore.hstore := case when $8 operator(mbus4_hstore.->) 'seenby'::pg_catalog.text is null then $8 operator(mbus4_hstore.-) 'seenby'::pg_catalog.text when $2 = 'dmq' then $8 else $8 operator(mbus4_hstore.||) mbus4_hstore.hstore('seenby'::pg_catalog.text, pg_catalog.array_append(case when $8 operator(mbus4_hstore.->) 'seenby'::pg_catalog.text operator(pg_catalog.!~) '^[[:space:]]*[[{]' then pg_catalog.left(pg_catalog.format('mbus4-error '||$1||' 22P02 the header seenby is not an array: %s', $8 operator(mbus4_hstore.->) 'seenby'::pg_catalog.text), 2000)::int::pg_catalog.text::pg_catalog.text[] else ($8 operator(mbus4_hstore.->) 'seenby'::pg_catalog.text)::pg_catalog.text[] end, pg_catalog.current_database()::pg_catalog.text)::pg_catalog.text) end; mbus4_wanted constant pg_catalog.text[] := case when $8 operator(mbus4_hstore.->) 'consume_after'::pg_catalog.text operator(pg_catalog.!~) '^[[:space:]]*[[{]' then pg_catalog.left(pg_catalog.format('mbus4-error '||$1||' 22P02 the header consume_after is not an array: %s', $8 operator(mbus4_hstore.->) 'consume_after'::pg_catalog.text), 2000)::int::pg_catalog.text::pg_catalog.text[] else ($8 operator(mbus4_hstore.->) 'consume_after'::pg_catalog.text)::pg_catalog.text[] end; mbus4_redeployed constant boolean := ($8 operator(mbus4_hstore.->) 'Redeploy'::pg_catalog.text)::boolean; mbus4_at constant pg_catalog.timestamptz := case when $6 > $4 and not mbus4_dmq then $6 else $4 end; mbus4_after pg_catalog.text[]; mbus4_iid pg_catalog.text := $5; mbus4_parked boolean := false; mbus4_ids bigint[] := $11; mbus4_stored bigint[]; begin if pg_catalog.cardinality(mbus4_wanted) > 0 and not mbus4_dmq then mbus4_after := mbus4_wanted; mbus4_parked := $12 or mbus4.awaits_delivery(mbus4_after); end if; if mbus4_iid is null and (mbus4_at >= '2200-01-01Z' or pg_catalog.cardinality(mbus4_wanted) > 0) then mbus4_iid := $2 || '.' || pg_catalog.current_database()::pg_catalog.text || '.' || $3::pg_catalog.text; end if; if mbus4_ids is null then select pg_catalog.array_agg(c.id) into mbus4_ids from mbus4.consumer c where c.qname = $2 and case when c.target is null and c.selector_id is null then true when c.target is null or mbus4_redeployed is not true then mbus4.receives(c, $2, $3, $4, mbus4_iid, $6, $7, mbus4_headers, $9, $10, mbus4_after, mbus4_parked, null) end; if mbus4_ids is null then perform case when exists (select from mbus4.consumer c where c.qname = $2 and c.target is null) or exists (select from mbus4.queue q where q.qname = $2) or ($2 operator(pg_catalog.~) '^temp[.][0-9a-f]{32}[.][0-9]+$' and mbus4.is_gone($2, ''||$1||'')) then 0 else pg_catalog.left(pg_catalog.format('mbus4-error '||$1||' 42704 queue %s does not exist', coalesce('"' || $2 || '"', 'null')), 2000)::int end; end if; end if; if pg_catalog.cardinality(mbus4_ids) > 0 then if $5 is null then insert into mbus4.message (id, consumer_id, available_at, added, iid, delayed_until, expires, headers, properties, data, after) select $3, s.consumer_id, case when mbus4_parked then 'infinity' else mbus4_at end, $4, mbus4_iid, $6, $7, mbus4_headers, $9, $10, mbus4_after from pg_catalog.unnest(mbus4_ids) s (consumer_id); mbus4_stored := mbus4_ids; else delete from mbus4.message m where m.iid = $5 and m.consumer_id + 0 = any(mbus4_ids) and m.expires <= $4 and m.consumer_id <> 1 and not (m.available_at > pg_catalog.clock_timestamp() and m.available_at < 'infinity' and mbus4.is_leased(m.available_at, m.delayed_until, m.headers)); with stored as ( insert into mbus4.message (id, consumer_id, available_at, added, iid, delayed_until, expires, headers, properties, data, after) select $3, s.consumer_id, case when mbus4_parked then 'infinity' else mbus4_at end, $4, mbus4_iid, $6, $7, mbus4_headers, $9, $10, mbus4_after from pg_catalog.unnest(mbus4_ids) s (consumer_id) where ( select 1 from mbus4.places_of_iid($5) i join mbus4.message o on o.consumer_id = s.consumer_id and o.available_at = i.available_at and o.id = i.id where i.queue = $2 and o.iid is null for key share of o) is null on conflict (iid, consumer_id) where iid is not null do nothing returning consumer_id ) select pg_catalog.array_agg(s.consumer_id) into mbus4_stored from stored s; if mbus4_stored is null then perform pg_catalog.left(pg_catalog.format('mbus4-error '||$1||' 23505 a message with iid "%s" is still waiting in queue "%s"', mbus4_iid, $2), 2000)::int; end if; end if; if mbus4_parked then insert into mbus4.waiting (dep, consumer_id, id) select d.dep, s.consumer_id, $3 from pg_catalog.unnest(mbus4_after) d (dep) cross join pg_catalog.unnest(mbus4_stored) s (consumer_id) where d.dep is not null on conflict do nothing; end if; end if; return coalesce(mbus4_iid, $2 || '.' || pg_catalog.current_database()::pg_catalog.text || '.' || case when mbus4_at < '2038-01-01Z' then (pg_catalog.date_part('epoch', mbus4_at) * 1000000::pg_catalog.float8)::bigint::pg_catalog.text when mbus4_at < '2200-01-01Z' then (extract(epoch from mbus4_at) * 1000000::numeric)::bigint::pg_catalog.text else '' end || $3::pg_catalog.text); end $mbus4$;
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
---- prepared
-- whenever it is bound:
do $mbus4$
declare
    mbus4_text pg_catalog.text;
    mbus4_message mbus4.qt_model;
    mbus4_done int := 0;
    mbus4_error pg_catalog.text;
    mbus4_stopped boolean := false;
    mbus4_retries constant boolean := exists (
        select
        from mbus4.consumer c
        where c.qname = pg_catalog.lower('orders' collate "C") and c.name = 'default' and c.max_attempts is not null and c.id <> 1
    );
    mbus4_iid pg_catalog.text;
    mbus4_checked boolean := exists (select from pg_catalog.pg_trigger t where t.tgdeferrable);
    mbus4_sound boolean;
begin
    mbus4_text := 'insert into done select ($1).iid';
    if mbus4_checked then
        begin
            mbus4_checked := false;
            set constraints all immediate;
            mbus4_checked := true;
            raise exception 'undone';
        exception when others or assert_failure then
            null;
        end;
    end if;
    begin
        for mbus4_message in
        with mbus4_call_args (n, "qname", "cname", "amt") as (
            select 1::bigint, 'orders'::pg_catalog.text, 'default'::pg_catalog.text, 100
        ),
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
            returning m.id, m.consumer_id, m.available_at, m.added, m.delayed_until, m.expires, m.received, m.headers,
                m.properties, m.data, m.iid
        ),
        mbus4_call as (
            select 1::bigint as n,
                row(
                    d.id, d.added::timestamp,
                    coalesce(
                        d.iid,
                        (select pg_catalog.lower(a.qname collate "C") from mbus4_call_args a) || '.' || pg_catalog.current_database()::pg_catalog.text || '.' || case
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
                                (select pg_catalog.lower(a.qname collate "C") from mbus4_call_args a),
                                'seenby',
                                array[pg_catalog.current_database()::pg_catalog.text]::pg_catalog.text,
                                'enqueue_time',
                                case
                                    when pg_catalog.starts_with(pg_catalog.current_setting('datestyle'), 'ISO')
                                        then d.added::timestamp::pg_catalog.text
                                    else mbus4.time_text(d.added::timestamp)
                                end,
                                'destination',
                                (select pg_catalog.lower(a.qname collate "C") from mbus4_call_args a)
                            ],
                            case
                                when pg_catalog.starts_with(
                                    (select pg_catalog.lower(a.qname collate "C") from mbus4_call_args a), 'temp.'
                                )
                                    then array['tempq', (select pg_catalog.lower(a.qname collate "C") from mbus4_call_args a)]
                            end
                        )
                    )
                        operator(mbus4_hstore.||) coalesce(
                            d.headers
                                operator(mbus4_hstore.||) case
                                    when d.consumer_id = 1 and mbus4_hstore.exist(d.headers, 'destination') then ''
                                    else mbus4_hstore.hstore(
                                        pg_catalog.array_cat(
                                            array[
                                                'destination',
                                                (select pg_catalog.lower(a.qname collate "C") from mbus4_call_args a)
                                            ],
                                            case
                                                when pg_catalog.starts_with(
                                                    (select pg_catalog.lower(a.qname collate "C") from mbus4_call_args a), 'temp.'
                                                )
                                                    then array[
                                                        'tempq',
                                                        (select pg_catalog.lower(a.qname collate "C") from mbus4_call_args a)
                                                    ]
                                            end
                                        )
                                    )
                                end,
                            ''
                        ),
                    d.properties, d.data
                )::mbus4.qt_model as consumen
            from (select * from mbus4_call_taken d order by d.available_at, d.id offset 0) d
        )
        select (mbus4_call.consumen).*
        from mbus4_call
        loop
            begin
                execute mbus4_text using mbus4_message;
                if mbus4_checked then
                    begin
                        mbus4_sound := false;
                        set constraints all immediate;
                        mbus4_sound := true;
                        raise exception 'undone';
                    exception when others or assert_failure then
                        if not mbus4_sound then
                            raise;
                        end if;
                    end;
                end if;
                mbus4_done := mbus4_done + 1;
            exception when others or assert_failure then
                get stacked diagnostics mbus4_error = message_text;
                mbus4_error := coalesce(
                    pg_catalog.substring(mbus4_error, 'mbus4-error [0-9]+ _session_secret_ [0-9A-Z]{5} (.*)"$'), mbus4_error
                );
            end;
            if mbus4_error is not null then
                mbus4_stopped := mbus4_done = 0;
                if mbus4_stopped then
                    raise exception 'undone';
                elsif mbus4_retries then
                    perform mbus4.at_retry_698f4eb1(
                        '1 _session_secret_', row(null, mbus4_message)::mbus4.retry_target, mbus4_error, null, null
                    );
                else
                    with mbus4_call_args (n, "qname", "data", "headers", "properties", "delayed_until", "expires", "iid") as (
                        select 1::bigint, 'dmq'::pg_catalog.text, (mbus4_message).data,
                            (mbus4_message).headers
                                operator(mbus4_hstore.||) mbus4_hstore.hstore(
                                    array[
                                        'dmq.added',
                                        mbus4.time_text(pg_catalog.clock_timestamp()::timestamp),
                                        'dmq.error', mbus4_error
                                    ]
                                ),
                            (mbus4_message).properties, (mbus4_message).delayed_until, (mbus4_message).expires,
                            (mbus4_message).iid
                    ),
                    mbus4_call_posted as materialized (
                        select w.*,
                            case when w.delayed_until > w.added and w.queue <> 'dmq' then w.delayed_until else w.added end as at,
                            case
                                when (
                                    w.headers is null
                                        or not w.headers operator(mbus4_hstore.?|) array['seenby', 'consume_after', 'Redeploy']
                                )
                                    and (
                                        w.given is null
                                            or (
                                                pg_catalog.strpos(
                                                    w.given, '.' || pg_catalog.current_database()::pg_catalog.text || '.'
                                                ) = 0
                                                    or w.given operator(pg_catalog.!~) '[.][1-9][0-9]{16,}$'
                                            )
                                            and not exists (select from mbus4.message m where m.iid = w.given)
                                    )
                                    then null
                                else mbus4.at_post_given_361e6977(
                                    '1 _session_secret_', w.queue, w.id, w.added, w.given, w.delayed_until, w.expires, w.headers,
                                    w.properties, w.data, null, false
                                )
                            end as done
                        from (
                            select a.n,
                                case
                                    when pg_catalog.pg_try_advisory_xact_lock_shared(
                                        1835169140, pg_catalog.hashtext(pg_catalog.lower(a.qname collate "C")) & 63
                                    )
                                        then pg_catalog.nextval('mbus4.post_id')
                                    when pg_catalog.nextval('mbus4.message_id') > 0 then pg_catalog.nextval('mbus4.post_id')
                                end as id,
                                pg_catalog.clock_timestamp() as added,
                                pg_catalog.lower(a.qname collate "C") as queue,
                                a.iid as given, a.headers as headers,
                                a.delayed_until::pg_catalog.timestamptz as delayed_until,
                                a.expires::pg_catalog.timestamptz as expires,
                                a.properties, a.data as data
                            from mbus4_call_args a
                            offset 0
                        ) w
                        offset 0
                    ),
                    mbus4_call_stored as (
                        insert into mbus4.message (
                            id, consumer_id, available_at, added, iid, delayed_until, expires, headers, properties, data
                        )
                        select p.id, consumer_id, p.at, p.added,
                            coalesce(
                                p.given,
                                case
                                    when case
                                        when p.delayed_until > p.added and p.queue <> 'dmq' then p.delayed_until
                                        else p.added
                                    end >= '2200-01-01Z'
                                        then p.queue || '.' || pg_catalog.current_database()::pg_catalog.text || '.' || p.id::pg_catalog.text
                                end
                            ),
                            p.delayed_until, p.expires, p.headers, p.properties, p.data
                        from mbus4_call_posted p
                        left join lateral (
                            select c.id as consumer_id,
                                case when c.selector_id is not null or c.target is not null then c end as rest
                            from mbus4.consumer c
                            where c.qname = p.queue
                            offset 0
                        ) c on true
                        where p.done is null
                            and coalesce(
                                case
                                    when consumer_id is not null
                                        then rest is null
                                        or case
                                            when (rest).target is null
                                                and not (rest).general
                                                then mbus4.has_asked(rest, p.queue, p.added, p.headers, p.properties, p.data) is true
                                            else mbus4.receives(
                                                rest, p.queue, p.id, p.added, coalesce(p.given), p.delayed_until, p.expires,
                                                p.headers, p.properties, p.data, null, false, null
                                            )
                                        end
                                end,
                                mbus4.at_post_given_361e6977(
                                    '1 _session_secret_', p.queue, p.id, p.added, null, p.delayed_until, p.expires, p.headers,
                                    p.properties, p.data, null, false
                                ) is null
                            )
                    ),
                    mbus4_call as (
                        select p.n,
                            coalesce(
                                p.done, p.given,
                                p.queue || '.' || pg_catalog.current_database()::pg_catalog.text || '.' || case
                                    when p.at < '2038-01-01Z'
                                        then (pg_catalog.date_part('epoch', p.at) * 1000000::pg_catalog.float8)::bigint::pg_catalog.text
                                    when p.at < '2200-01-01Z'
                                        then (extract(epoch from p.at) * 1000000::numeric)::bigint::pg_catalog.text
                                    else ''
                                end || p.id::pg_catalog.text
                            ) as post
                        from mbus4_call_posted p
                    )
                    select mbus4_call.post into mbus4_iid
                    from mbus4_call;
                end if;
                mbus4_error := null;
            end if;
        end loop;
    exception when others then
        if not mbus4_stopped then
            raise;
        end if;
    end;
    if mbus4_stopped then
        with mbus4_call_args (n, "qname", "cname", "msgid") as (
            select 1::bigint, 'orders'::pg_catalog.text, 'default'::pg_catalog.text, mbus4_message.iid
        ),
        mbus4_call_consumer as materialized (
            select a.n, a.msgid as msgid, c.qname as queue,
                coalesce(c.id, mbus4.at_no_consumer_56bdd364('1 _session_secret_', a.qname, a.cname)) as id
            from mbus4_call_args a
            left join mbus4.consumer c on c.qname = pg_catalog.lower(a.qname collate "C")
                and c.name = pg_catalog.lower(a.cname collate "C")
        ),
        mbus4_call_place as materialized (
            select p.available_at, p.id
            from mbus4_call_consumer k
            cross join lateral mbus4.places_of_iid(k.msgid) p
            where p.queue = k.queue
        ),
        mbus4_call_taken_by_iid as (
            delete from mbus4.message m
            where m.iid is not null
                and (m.iid, m.consumer_id) between (
                    (select k.msgid from mbus4_call_consumer k), (select k.id from mbus4_call_consumer k)
                ) and ((select k.msgid from mbus4_call_consumer k), (select k.id from mbus4_call_consumer k))
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
        mbus4_call_taken_by_place as (
            delete from mbus4.message m
            where m.consumer_id = (select k.id from mbus4_call_consumer k)
                and m.available_at = (select p.available_at from mbus4_call_place p)
                and m.id = (select p.id from mbus4_call_place p)
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
                (select k.msgid from mbus4_call_consumer k) as iid,
                m.delayed_until, m.expires, m.received, m.headers, m.properties, m.data, m.after
        ),
        mbus4_call_taken as (select * from mbus4_call_taken_by_iid union all select * from mbus4_call_taken_by_place),
        mbus4_call_enforced as (
            insert into mbus4.waiting (dep, consumer_id, id)
            select null, k.id, null
            from mbus4_call_consumer k
            where pg_catalog.num_nulls(k.n) > 0
        ),
        mbus4_call as (
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
                                                    case
                                                        when pg_catalog.starts_with(k.queue, 'temp.') then array['tempq', k.queue]
                                                    end
                                                )
                                            )
                                        end,
                                    ''
                                ),
                            d.properties, d.data
                        )::mbus4.qt_model
                end as take_from
            from mbus4_call_consumer k
            left join mbus4_call_taken d on true
        )
        select (mbus4_call.take_from).* into mbus4_message
        from mbus4_call;
        if mbus4_message.iid is null then
            null;
        elsif mbus4_retries then
            perform mbus4.at_retry_698f4eb1(
                '1 _session_secret_', row(null, mbus4_message)::mbus4.retry_target, mbus4_error, null, null
            );
        else
            with mbus4_call_args (n, "qname", "data", "headers", "properties", "delayed_until", "expires", "iid") as (
                select 1::bigint, 'dmq'::pg_catalog.text, (mbus4_message).data,
                    (mbus4_message).headers
                        operator(mbus4_hstore.||) mbus4_hstore.hstore(
                            array['dmq.added', mbus4.time_text(pg_catalog.clock_timestamp()::timestamp), 'dmq.error', mbus4_error]
                        ),
                    (mbus4_message).properties, (mbus4_message).delayed_until, (mbus4_message).expires, (mbus4_message).iid
            ),
            mbus4_call_posted as materialized (
                select w.*,
                    case when w.delayed_until > w.added and w.queue <> 'dmq' then w.delayed_until else w.added end as at,
                    case
                        when (
                            w.headers is null
                                or not w.headers operator(mbus4_hstore.?|) array['seenby', 'consume_after', 'Redeploy']
                        )
                            and (
                                w.given is null
                                    or (
                                        pg_catalog.strpos(w.given, '.' || pg_catalog.current_database()::pg_catalog.text || '.') = 0
                                            or w.given operator(pg_catalog.!~) '[.][1-9][0-9]{16,}$'
                                    )
                                    and not exists (select from mbus4.message m where m.iid = w.given)
                            )
                            then null
                        else mbus4.at_post_given_361e6977(
                            '1 _session_secret_', w.queue, w.id, w.added, w.given, w.delayed_until, w.expires, w.headers,
                            w.properties, w.data, null, false
                        )
                    end as done
                from (
                    select a.n,
                        case
                            when pg_catalog.pg_try_advisory_xact_lock_shared(
                                1835169140, pg_catalog.hashtext(pg_catalog.lower(a.qname collate "C")) & 63
                            )
                                then pg_catalog.nextval('mbus4.post_id')
                            when pg_catalog.nextval('mbus4.message_id') > 0 then pg_catalog.nextval('mbus4.post_id')
                        end as id,
                        pg_catalog.clock_timestamp() as added,
                        pg_catalog.lower(a.qname collate "C") as queue,
                        a.iid as given, a.headers as headers,
                        a.delayed_until::pg_catalog.timestamptz as delayed_until,
                        a.expires::pg_catalog.timestamptz as expires,
                        a.properties, a.data as data
                    from mbus4_call_args a
                    offset 0
                ) w
                offset 0
            ),
            mbus4_call_stored as (
                insert into mbus4.message (
                    id, consumer_id, available_at, added, iid, delayed_until, expires, headers, properties, data
                )
                select p.id, consumer_id, p.at, p.added,
                    coalesce(
                        p.given,
                        case
                            when case
                                when p.delayed_until > p.added and p.queue <> 'dmq' then p.delayed_until
                                else p.added
                            end >= '2200-01-01Z'
                                then p.queue || '.' || pg_catalog.current_database()::pg_catalog.text || '.' || p.id::pg_catalog.text
                        end
                    ),
                    p.delayed_until, p.expires, p.headers, p.properties, p.data
                from mbus4_call_posted p
                left join lateral (
                    select c.id as consumer_id, case when c.selector_id is not null or c.target is not null then c end as rest
                    from mbus4.consumer c
                    where c.qname = p.queue
                    offset 0
                ) c on true
                where p.done is null
                    and coalesce(
                        case
                            when consumer_id is not null
                                then rest is null
                                or case
                                    when (rest).target is null
                                        and not (rest).general
                                        then mbus4.has_asked(rest, p.queue, p.added, p.headers, p.properties, p.data) is true
                                    else mbus4.receives(
                                        rest, p.queue, p.id, p.added, coalesce(p.given), p.delayed_until, p.expires, p.headers,
                                        p.properties, p.data, null, false, null
                                    )
                                end
                        end,
                        mbus4.at_post_given_361e6977(
                            '1 _session_secret_', p.queue, p.id, p.added, null, p.delayed_until, p.expires, p.headers,
                            p.properties, p.data, null, false
                        ) is null
                    )
            ),
            mbus4_call as (
                select p.n,
                    coalesce(
                        p.done, p.given,
                        p.queue || '.' || pg_catalog.current_database()::pg_catalog.text || '.' || case
                            when p.at < '2038-01-01Z'
                                then (pg_catalog.date_part('epoch', p.at) * 1000000::pg_catalog.float8)::bigint::pg_catalog.text
                            when p.at < '2200-01-01Z' then (extract(epoch from p.at) * 1000000::numeric)::bigint::pg_catalog.text
                            else ''
                        end || p.id::pg_catalog.text
                    ) as post
                from mbus4_call_posted p
            )
            select mbus4_call.post into mbus4_iid
            from mbus4_call;
        end if;
    end if;
    perform pg_catalog.set_config('mbus4.result_1', mbus4_done::pg_catalog.text, true);
end
$mbus4$;
-- when it is parsed:
select (pg_catalog.current_setting('mbus4.result_' || (1)::pg_catalog.text)::pg_catalog.int4) as "run_on_orders"

# A view over a queue, which works without the proxy, too.
select mbus4.create_view('orders')
---- unprepared
insert into mbus4.view_insert (iid)
select null
where case
    when not exists (select from mbus4.consumer c where c.qname = 'orders' and c.name = 'default')
        then mbus4.at_no_consumer_56bdd364('1 _session_secret_', 'orders', 'default')
end is not null ; create or replace function mbus4_views.view_83783a8ffd1b0ee6_consume() returns table (data mbus4_hstore.hstore) language sql volatile rows 1 security definer
set search_path = pg_catalog,
    pg_temp as '
        with mbus4_call_args (n, "qname", "cname") as (select 1::bigint, ''orders''::pg_catalog.text, ''default''::pg_catalog.text),
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
                                mbus4.at_no_consumer_56bdd364(''0'', a.qname, a.cname)
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
                m.data, m.iid
        ),
        mbus4_call as (
            select 1::bigint as n,
                row(
                    d.id, d.added::timestamp,
                    coalesce(
                        d.iid,
                        (select pg_catalog.lower(a.qname collate "C") from mbus4_call_args a) || ''.'' || pg_catalog.current_database()::pg_catalog.text || ''.'' || case
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
                                ''destination_queue'',
                                (select pg_catalog.lower(a.qname collate "C") from mbus4_call_args a),
                                ''seenby'',
                                array[pg_catalog.current_database()::pg_catalog.text]::pg_catalog.text,
                                ''enqueue_time'',
                                case
                                    when pg_catalog.starts_with(pg_catalog.current_setting(''datestyle''), ''ISO'')
                                        then d.added::timestamp::pg_catalog.text
                                    else mbus4.time_text(d.added::timestamp)
                                end,
                                ''destination'',
                                (select pg_catalog.lower(a.qname collate "C") from mbus4_call_args a)
                            ],
                            case
                                when pg_catalog.starts_with(
                                    (select pg_catalog.lower(a.qname collate "C") from mbus4_call_args a), ''temp.''
                                )
                                    then array[''tempq'', (select pg_catalog.lower(a.qname collate "C") from mbus4_call_args a)]
                            end
                        )
                    )
                        operator(mbus4_hstore.||) coalesce(
                            d.headers
                                operator(mbus4_hstore.||) case
                                    when d.consumer_id = 1 and mbus4_hstore.exist(d.headers, ''destination'') then ''''
                                    else mbus4_hstore.hstore(
                                        pg_catalog.array_cat(
                                            array[''destination'', (select pg_catalog.lower(a.qname collate "C") from mbus4_call_args a)],
                                            case
                                                when pg_catalog.starts_with(
                                                    (select pg_catalog.lower(a.qname collate "C") from mbus4_call_args a), ''temp.''
                                                )
                                                    then array[
                                                        ''tempq'', (select pg_catalog.lower(a.qname collate "C") from mbus4_call_args a)
                                                    ]
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
        select (mbus4_call.consume).data
        from mbus4_call
    ' ; create or replace function mbus4_views.view_83783a8ffd1b0ee6_post(data mbus4_hstore.hstore) returns text language sql volatile security definer
set search_path = pg_catalog,
    pg_temp as '
        with mbus4_call_args (n, "qname", "data", "headers", "properties", "delayed_until", "expires", "iid") as (
            select 1::bigint, ''orders''::pg_catalog.text, $1, null::mbus4_hstore.hstore, null::mbus4_hstore.hstore, null::timestamp,
                null::timestamp, null::pg_catalog.text
        ),
        mbus4_call_posted as materialized (
            select w.*,
                case when w.delayed_until > w.added and w.queue <> ''dmq'' then w.delayed_until else w.added end as at,
                case
                    when (w.headers is null or not w.headers operator(mbus4_hstore.?|) array[''seenby'', ''consume_after'', ''Redeploy''])
                        and (
                            w.given is null
                                or (
                                    pg_catalog.strpos(w.given, ''.'' || pg_catalog.current_database()::pg_catalog.text || ''.'') = 0
                                        or w.given operator(pg_catalog.!~) ''[.][1-9][0-9]{16,}$''
                                )
                                and not exists (select from mbus4.message m where m.iid = w.given)
                        )
                        then null
                    else mbus4.at_post_given_361e6977(
                        ''0'', w.queue, w.id, w.added, w.given, w.delayed_until, w.expires, w.headers, w.properties, w.data, null, false
                    )
                end as done
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
                    a.iid as given, a.headers as headers,
                    a.delayed_until::pg_catalog.timestamptz as delayed_until,
                    a.expires::pg_catalog.timestamptz as expires,
                    a.properties, a.data as data
                from mbus4_call_args a
                offset 0
            ) w
            offset 0
        ),
        mbus4_call_stored as (
            insert into mbus4.message (id, consumer_id, available_at, added, iid, delayed_until, expires, headers, properties, data)
            select p.id, consumer_id, p.at, p.added,
                coalesce(
                    p.given,
                    case
                        when case
                            when p.delayed_until > p.added and p.queue <> ''dmq'' then p.delayed_until
                            else p.added
                        end >= ''2200-01-01Z''
                            then p.queue || ''.'' || pg_catalog.current_database()::pg_catalog.text || ''.'' || p.id::pg_catalog.text
                    end
                ),
                p.delayed_until, p.expires, p.headers, p.properties, p.data
            from mbus4_call_posted p
            left join lateral (
                select c.id as consumer_id, case when c.selector_id is not null or c.target is not null then c end as rest
                from mbus4.consumer c
                where c.qname = p.queue
                offset 0
            ) c on true
            where p.done is null
                and coalesce(
                    case
                        when consumer_id is not null
                            then rest is null
                            or case
                                when (rest).target is null
                                    and not (rest).general
                                    then mbus4.has_asked(rest, p.queue, p.added, p.headers, p.properties, p.data) is true
                                else mbus4.receives(
                                    rest, p.queue, p.id, p.added, coalesce(p.given), p.delayed_until, p.expires, p.headers, p.properties,
                                    p.data, null, false, null
                                )
                            end
                    end,
                    mbus4.at_post_given_361e6977(
                        ''0'', p.queue, p.id, p.added, null, p.delayed_until, p.expires, p.headers, p.properties, p.data, null, false
                    ) is null
                )
        ),
        mbus4_call as (
            select p.n,
                coalesce(
                    p.done, p.given,
                    p.queue || ''.'' || pg_catalog.current_database()::pg_catalog.text || ''.'' || case
                        when p.at < ''2038-01-01Z''
                            then (pg_catalog.date_part(''epoch'', p.at) * 1000000::pg_catalog.float8)::bigint::pg_catalog.text
                        when p.at < ''2200-01-01Z'' then (extract(epoch from p.at) * 1000000::numeric)::bigint::pg_catalog.text
                        else ''''
                    end || p.id::pg_catalog.text
                ) as post
            from mbus4_call_posted p
        )
        select mbus4_call.post
        from mbus4_call
    ' ; create view public."orders_q" as
select *
from mbus4_views.view_83783a8ffd1b0ee6_consume() ; create rule post as on
insert to public."orders_q" do instead
insert into mbus4.view_insert (iid)
select mbus4_views.view_83783a8ffd1b0ee6_post(new.data) ;
select (''::pg_catalog.void) as "create_view";
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
create or replace function mbus4.at_post_given_361e6977(
    call text, queue text, id bigint, added timestamptz, iid text, delayed_until timestamptz, expires timestamptz,
    headers mbus4_hstore.hstore, properties mbus4_hstore.hstore, data mbus4_hstore.hstore, consumers bigint[], waits boolean
) returns text language plpgsql volatile cost 1
set plan_cache_mode = force_generic_plan
set jit = off as $mbus4$ #variable_conflict use_column declare mbus4_dmq constant boolean := $2 is not distinct from 'dmq'; mbus4_headers mbus4_hstore.hstore := case when $8 operator(mbus4_hstore.->) 'seenby'::pg_catalog.text is null then $8 operator(mbus4_hstore.-) 'seenby'::pg_catalog.text when $2 = 'dmq' then $8 else $8 operator(mbus4_hstore.||) mbus4_hstore.hstore('seenby'::pg_catalog.text, pg_catalog.array_append(case when $8 operator(mbus4_hstore.->) 'seenby'::pg_catalog.text operator(pg_catalog.!~) '^[[:space:]]*[[{]' then pg_catalog.left(pg_catalog.format('mbus4-error '||$1||' 22P02 the header seenby is not an array: %s', $8 operator(mbus4_hstore.->) 'seenby'::pg_catalog.text), 2000)::int::pg_catalog.text::pg_catalog.text[] else ($8 operator(mbus4_hstore.->) 'seenby'::pg_catalog.text)::pg_catalog.text[] end, pg_catalog.current_database()::pg_catalog.text)::pg_catalog.text) end; mbus4_wanted constant pg_catalog.text[] := case when $8 operator(mbus4_hstore.->) 'consume_after'::pg_catalog.text operator(pg_catalog.!~) '^[[:space:]]*[[{]' then pg_catalog.left(pg_catalog.format('mbus4-error '||$1||' 22P02 the header consume_after is not an array: %s', $8 operator(mbus4_hstore.->) 'consume_after'::pg_catalog.text), 2000)::int::pg_catalog.text::pg_catalog.text[] else ($8 operator(mbus4_hstore.->) 'consume_after'::pg_catalog.text)::pg_catalog.text[] end; mbus4_redeployed constant boolean := ($8 operator(mbus4_hstore.->) 'Redeploy'::pg_catalog.text)::boolean; mbus4_at constant pg_catalog.timestamptz := case when $6 > $4 and not mbus4_dmq then $6 else $4 end; mbus4_after pg_catalog.text[]; mbus4_iid pg_catalog.text := $5; mbus4_parked boolean := false; mbus4_ids bigint[] := $11; mbus4_stored bigint[]; begin if pg_catalog.cardinality(mbus4_wanted) > 0 and not mbus4_dmq then mbus4_after := mbus4_wanted; mbus4_parked := $12 or mbus4.awaits_delivery(mbus4_after); end if; if mbus4_iid is null and (mbus4_at >= '2200-01-01Z' or pg_catalog.cardinality(mbus4_wanted) > 0) then mbus4_iid := $2 || '.' || pg_catalog.current_database()::pg_catalog.text || '.' || $3::pg_catalog.text; end if; if mbus4_ids is null then select pg_catalog.array_agg(c.id) into mbus4_ids from mbus4.consumer c where c.qname = $2 and case when c.target is null and c.selector_id is null then true when c.target is null or mbus4_redeployed is not true then mbus4.receives(c, $2, $3, $4, mbus4_iid, $6, $7, mbus4_headers, $9, $10, mbus4_after, mbus4_parked, null) end; if mbus4_ids is null then perform case when exists (select from mbus4.consumer c where c.qname = $2 and c.target is null) or exists (select from mbus4.queue q where q.qname = $2) or ($2 operator(pg_catalog.~) '^temp[.][0-9a-f]{32}[.][0-9]+$' and mbus4.is_gone($2, ''||$1||'')) then 0 else pg_catalog.left(pg_catalog.format('mbus4-error '||$1||' 42704 queue %s does not exist', coalesce('"' || $2 || '"', 'null')), 2000)::int end; end if; end if; if pg_catalog.cardinality(mbus4_ids) > 0 then if $5 is null then insert into mbus4.message (id, consumer_id, available_at, added, iid, delayed_until, expires, headers, properties, data, after) select $3, s.consumer_id, case when mbus4_parked then 'infinity' else mbus4_at end, $4, mbus4_iid, $6, $7, mbus4_headers, $9, $10, mbus4_after from pg_catalog.unnest(mbus4_ids) s (consumer_id); mbus4_stored := mbus4_ids; else delete from mbus4.message m where m.iid = $5 and m.consumer_id + 0 = any(mbus4_ids) and m.expires <= $4 and m.consumer_id <> 1 and not (m.available_at > pg_catalog.clock_timestamp() and m.available_at < 'infinity' and mbus4.is_leased(m.available_at, m.delayed_until, m.headers)); with stored as ( insert into mbus4.message (id, consumer_id, available_at, added, iid, delayed_until, expires, headers, properties, data, after) select $3, s.consumer_id, case when mbus4_parked then 'infinity' else mbus4_at end, $4, mbus4_iid, $6, $7, mbus4_headers, $9, $10, mbus4_after from pg_catalog.unnest(mbus4_ids) s (consumer_id) where ( select 1 from mbus4.places_of_iid($5) i join mbus4.message o on o.consumer_id = s.consumer_id and o.available_at = i.available_at and o.id = i.id where i.queue = $2 and o.iid is null for key share of o) is null on conflict (iid, consumer_id) where iid is not null do nothing returning consumer_id ) select pg_catalog.array_agg(s.consumer_id) into mbus4_stored from stored s; if mbus4_stored is null then perform pg_catalog.left(pg_catalog.format('mbus4-error '||$1||' 23505 a message with iid "%s" is still waiting in queue "%s"', mbus4_iid, $2), 2000)::int; end if; end if; if mbus4_parked then insert into mbus4.waiting (dep, consumer_id, id) select d.dep, s.consumer_id, $3 from pg_catalog.unnest(mbus4_after) d (dep) cross join pg_catalog.unnest(mbus4_stored) s (consumer_id) where d.dep is not null on conflict do nothing; end if; end if; return coalesce(mbus4_iid, $2 || '.' || pg_catalog.current_database()::pg_catalog.text || '.' || case when mbus4_at < '2038-01-01Z' then (pg_catalog.date_part('epoch', mbus4_at) * 1000000::pg_catalog.float8)::bigint::pg_catalog.text when mbus4_at < '2200-01-01Z' then (extract(epoch from mbus4_at) * 1000000::numeric)::bigint::pg_catalog.text else '' end || $3::pg_catalog.text); end $mbus4$
---- prepared
-- whenever it is bound:
insert into mbus4.view_insert (iid)
select null
where case
    when not exists (select from mbus4.consumer c where c.qname = 'orders' and c.name = 'default')
        then mbus4.at_no_consumer_56bdd364('1 _session_secret_', 'orders', 'default')
end is not null;
create or replace function mbus4_views.view_83783a8ffd1b0ee6_consume() returns table (data mbus4_hstore.hstore) language sql volatile rows 1 security definer
set search_path = pg_catalog,
    pg_temp as '
        with mbus4_call_args (n, "qname", "cname") as (select 1::bigint, ''orders''::pg_catalog.text, ''default''::pg_catalog.text),
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
                                mbus4.at_no_consumer_56bdd364(''0'', a.qname, a.cname)
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
                m.data, m.iid
        ),
        mbus4_call as (
            select 1::bigint as n,
                row(
                    d.id, d.added::timestamp,
                    coalesce(
                        d.iid,
                        (select pg_catalog.lower(a.qname collate "C") from mbus4_call_args a) || ''.'' || pg_catalog.current_database()::pg_catalog.text || ''.'' || case
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
                                ''destination_queue'',
                                (select pg_catalog.lower(a.qname collate "C") from mbus4_call_args a),
                                ''seenby'',
                                array[pg_catalog.current_database()::pg_catalog.text]::pg_catalog.text,
                                ''enqueue_time'',
                                case
                                    when pg_catalog.starts_with(pg_catalog.current_setting(''datestyle''), ''ISO'')
                                        then d.added::timestamp::pg_catalog.text
                                    else mbus4.time_text(d.added::timestamp)
                                end,
                                ''destination'',
                                (select pg_catalog.lower(a.qname collate "C") from mbus4_call_args a)
                            ],
                            case
                                when pg_catalog.starts_with(
                                    (select pg_catalog.lower(a.qname collate "C") from mbus4_call_args a), ''temp.''
                                )
                                    then array[''tempq'', (select pg_catalog.lower(a.qname collate "C") from mbus4_call_args a)]
                            end
                        )
                    )
                        operator(mbus4_hstore.||) coalesce(
                            d.headers
                                operator(mbus4_hstore.||) case
                                    when d.consumer_id = 1 and mbus4_hstore.exist(d.headers, ''destination'') then ''''
                                    else mbus4_hstore.hstore(
                                        pg_catalog.array_cat(
                                            array[''destination'', (select pg_catalog.lower(a.qname collate "C") from mbus4_call_args a)],
                                            case
                                                when pg_catalog.starts_with(
                                                    (select pg_catalog.lower(a.qname collate "C") from mbus4_call_args a), ''temp.''
                                                )
                                                    then array[
                                                        ''tempq'', (select pg_catalog.lower(a.qname collate "C") from mbus4_call_args a)
                                                    ]
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
        select (mbus4_call.consume).data
        from mbus4_call
    ';
create or replace function mbus4_views.view_83783a8ffd1b0ee6_post(data mbus4_hstore.hstore) returns text language sql volatile security definer
set search_path = pg_catalog,
    pg_temp as '
        with mbus4_call_args (n, "qname", "data", "headers", "properties", "delayed_until", "expires", "iid") as (
            select 1::bigint, ''orders''::pg_catalog.text, $1, null::mbus4_hstore.hstore, null::mbus4_hstore.hstore, null::timestamp,
                null::timestamp, null::pg_catalog.text
        ),
        mbus4_call_posted as materialized (
            select w.*,
                case when w.delayed_until > w.added and w.queue <> ''dmq'' then w.delayed_until else w.added end as at,
                case
                    when (w.headers is null or not w.headers operator(mbus4_hstore.?|) array[''seenby'', ''consume_after'', ''Redeploy''])
                        and (
                            w.given is null
                                or (
                                    pg_catalog.strpos(w.given, ''.'' || pg_catalog.current_database()::pg_catalog.text || ''.'') = 0
                                        or w.given operator(pg_catalog.!~) ''[.][1-9][0-9]{16,}$''
                                )
                                and not exists (select from mbus4.message m where m.iid = w.given)
                        )
                        then null
                    else mbus4.at_post_given_361e6977(
                        ''0'', w.queue, w.id, w.added, w.given, w.delayed_until, w.expires, w.headers, w.properties, w.data, null, false
                    )
                end as done
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
                    a.iid as given, a.headers as headers,
                    a.delayed_until::pg_catalog.timestamptz as delayed_until,
                    a.expires::pg_catalog.timestamptz as expires,
                    a.properties, a.data as data
                from mbus4_call_args a
                offset 0
            ) w
            offset 0
        ),
        mbus4_call_stored as (
            insert into mbus4.message (id, consumer_id, available_at, added, iid, delayed_until, expires, headers, properties, data)
            select p.id, consumer_id, p.at, p.added,
                coalesce(
                    p.given,
                    case
                        when case
                            when p.delayed_until > p.added and p.queue <> ''dmq'' then p.delayed_until
                            else p.added
                        end >= ''2200-01-01Z''
                            then p.queue || ''.'' || pg_catalog.current_database()::pg_catalog.text || ''.'' || p.id::pg_catalog.text
                    end
                ),
                p.delayed_until, p.expires, p.headers, p.properties, p.data
            from mbus4_call_posted p
            left join lateral (
                select c.id as consumer_id, case when c.selector_id is not null or c.target is not null then c end as rest
                from mbus4.consumer c
                where c.qname = p.queue
                offset 0
            ) c on true
            where p.done is null
                and coalesce(
                    case
                        when consumer_id is not null
                            then rest is null
                            or case
                                when (rest).target is null
                                    and not (rest).general
                                    then mbus4.has_asked(rest, p.queue, p.added, p.headers, p.properties, p.data) is true
                                else mbus4.receives(
                                    rest, p.queue, p.id, p.added, coalesce(p.given), p.delayed_until, p.expires, p.headers, p.properties,
                                    p.data, null, false, null
                                )
                            end
                    end,
                    mbus4.at_post_given_361e6977(
                        ''0'', p.queue, p.id, p.added, null, p.delayed_until, p.expires, p.headers, p.properties, p.data, null, false
                    ) is null
                )
        ),
        mbus4_call as (
            select p.n,
                coalesce(
                    p.done, p.given,
                    p.queue || ''.'' || pg_catalog.current_database()::pg_catalog.text || ''.'' || case
                        when p.at < ''2038-01-01Z''
                            then (pg_catalog.date_part(''epoch'', p.at) * 1000000::pg_catalog.float8)::bigint::pg_catalog.text
                        when p.at < ''2200-01-01Z'' then (extract(epoch from p.at) * 1000000::numeric)::bigint::pg_catalog.text
                        else ''''
                    end || p.id::pg_catalog.text
                ) as post
            from mbus4_call_posted p
        )
        select mbus4_call.post
        from mbus4_call
    ';
create view public."orders_q" as select * from mbus4_views.view_83783a8ffd1b0ee6_consume();
create rule post as on
insert to public."orders_q" do instead
insert into mbus4.view_insert (iid)
select mbus4_views.view_83783a8ffd1b0ee6_post(new.data);
-- when it is parsed:
select (''::pg_catalog.void) as "create_view"

# an argument that must be evaluated
select mbus4.run_on_orders(current_setting('app.exec'))
---- unprepared
do $mbus4$
declare
    mbus4_text pg_catalog.text;
    mbus4_message mbus4.qt_model;
    mbus4_done int := 0;
    mbus4_error pg_catalog.text;
    mbus4_stopped boolean := false;
    mbus4_retries constant boolean := exists (
        select
        from mbus4.consumer c
        where c.qname = pg_catalog.lower('orders' collate "C") and c.name = 'default' and c.max_attempts is not null and c.id <> 1
    );
    mbus4_iid pg_catalog.text;
    mbus4_checked boolean := exists (select from pg_catalog.pg_trigger t where t.tgdeferrable);
    mbus4_sound boolean;
begin
    execute 'select (current_setting(''app.exec''))::pg_catalog.text' into strict mbus4_text;
    if mbus4_text ~* $m$(?<!into\s*)"?mbus4"?\s*\.\s*"?\w+"?\s*\($m$ then
        raise exception using errcode = '0A000',
        message = 'argument exec of mbus4.run_on_orders must be known before the statement runs, because it contains calls of mbus4',
        hint = 'Give exec as a literal or as a bind parameter, perhaps with || between such.';
    end if;
    if mbus4_checked then
        begin
            mbus4_checked := false;
            set constraints all immediate;
            mbus4_checked := true;
            raise exception 'undone';
        exception when others or assert_failure then
            null;
        end;
    end if;
    begin
        for mbus4_message in
        with mbus4_call_args (n, "qname", "cname", "amt") as (
            select 1::bigint, 'orders'::pg_catalog.text, 'default'::pg_catalog.text, 100
        ),
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
            returning m.id, m.consumer_id, m.available_at, m.added, m.delayed_until, m.expires, m.received, m.headers,
                m.properties, m.data, m.iid
        ),
        mbus4_call as (
            select 1::bigint as n,
                row(
                    d.id, d.added::timestamp,
                    coalesce(
                        d.iid,
                        (select pg_catalog.lower(a.qname collate "C") from mbus4_call_args a) || '.' || pg_catalog.current_database()::pg_catalog.text || '.' || case
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
                                (select pg_catalog.lower(a.qname collate "C") from mbus4_call_args a),
                                'seenby',
                                array[pg_catalog.current_database()::pg_catalog.text]::pg_catalog.text,
                                'enqueue_time',
                                case
                                    when pg_catalog.starts_with(pg_catalog.current_setting('datestyle'), 'ISO')
                                        then d.added::timestamp::pg_catalog.text
                                    else mbus4.time_text(d.added::timestamp)
                                end,
                                'destination',
                                (select pg_catalog.lower(a.qname collate "C") from mbus4_call_args a)
                            ],
                            case
                                when pg_catalog.starts_with(
                                    (select pg_catalog.lower(a.qname collate "C") from mbus4_call_args a), 'temp.'
                                )
                                    then array['tempq', (select pg_catalog.lower(a.qname collate "C") from mbus4_call_args a)]
                            end
                        )
                    )
                        operator(mbus4_hstore.||) coalesce(
                            d.headers
                                operator(mbus4_hstore.||) case
                                    when d.consumer_id = 1 and mbus4_hstore.exist(d.headers, 'destination') then ''
                                    else mbus4_hstore.hstore(
                                        pg_catalog.array_cat(
                                            array[
                                                'destination',
                                                (select pg_catalog.lower(a.qname collate "C") from mbus4_call_args a)
                                            ],
                                            case
                                                when pg_catalog.starts_with(
                                                    (select pg_catalog.lower(a.qname collate "C") from mbus4_call_args a), 'temp.'
                                                )
                                                    then array[
                                                        'tempq',
                                                        (select pg_catalog.lower(a.qname collate "C") from mbus4_call_args a)
                                                    ]
                                            end
                                        )
                                    )
                                end,
                            ''
                        ),
                    d.properties, d.data
                )::mbus4.qt_model as consumen
            from (select * from mbus4_call_taken d order by d.available_at, d.id offset 0) d
        )
        select (mbus4_call.consumen).*
        from mbus4_call
        loop
            begin
                execute mbus4_text using mbus4_message;
                if mbus4_checked then
                    begin
                        mbus4_sound := false;
                        set constraints all immediate;
                        mbus4_sound := true;
                        raise exception 'undone';
                    exception when others or assert_failure then
                        if not mbus4_sound then
                            raise;
                        end if;
                    end;
                end if;
                mbus4_done := mbus4_done + 1;
            exception when others or assert_failure then
                get stacked diagnostics mbus4_error = message_text;
                mbus4_error := coalesce(
                    pg_catalog.substring(mbus4_error, 'mbus4-error [0-9]+ _session_secret_ [0-9A-Z]{5} (.*)"$'), mbus4_error
                );
            end;
            if mbus4_error is not null then
                mbus4_stopped := mbus4_done = 0;
                if mbus4_stopped then
                    raise exception 'undone';
                elsif mbus4_retries then
                    perform mbus4.at_retry_698f4eb1(
                        '1 _session_secret_', row(null, mbus4_message)::mbus4.retry_target, mbus4_error, null, null
                    );
                else
                    with mbus4_call_args (n, "qname", "data", "headers", "properties", "delayed_until", "expires", "iid") as (
                        select 1::bigint, 'dmq'::pg_catalog.text, (mbus4_message).data,
                            (mbus4_message).headers
                                operator(mbus4_hstore.||) mbus4_hstore.hstore(
                                    array[
                                        'dmq.added',
                                        mbus4.time_text(pg_catalog.clock_timestamp()::timestamp),
                                        'dmq.error', mbus4_error
                                    ]
                                ),
                            (mbus4_message).properties, (mbus4_message).delayed_until, (mbus4_message).expires,
                            (mbus4_message).iid
                    ),
                    mbus4_call_posted as materialized (
                        select w.*,
                            case when w.delayed_until > w.added and w.queue <> 'dmq' then w.delayed_until else w.added end as at,
                            case
                                when (
                                    w.headers is null
                                        or not w.headers operator(mbus4_hstore.?|) array['seenby', 'consume_after', 'Redeploy']
                                )
                                    and (
                                        w.given is null
                                            or (
                                                pg_catalog.strpos(
                                                    w.given, '.' || pg_catalog.current_database()::pg_catalog.text || '.'
                                                ) = 0
                                                    or w.given operator(pg_catalog.!~) '[.][1-9][0-9]{16,}$'
                                            )
                                            and not exists (select from mbus4.message m where m.iid = w.given)
                                    )
                                    then null
                                else mbus4.at_post_given_361e6977(
                                    '1 _session_secret_', w.queue, w.id, w.added, w.given, w.delayed_until, w.expires, w.headers,
                                    w.properties, w.data, null, false
                                )
                            end as done
                        from (
                            select a.n,
                                case
                                    when pg_catalog.pg_try_advisory_xact_lock_shared(
                                        1835169140, pg_catalog.hashtext(pg_catalog.lower(a.qname collate "C")) & 63
                                    )
                                        then pg_catalog.nextval('mbus4.post_id')
                                    when pg_catalog.nextval('mbus4.message_id') > 0 then pg_catalog.nextval('mbus4.post_id')
                                end as id,
                                pg_catalog.clock_timestamp() as added,
                                pg_catalog.lower(a.qname collate "C") as queue,
                                a.iid as given, a.headers as headers,
                                a.delayed_until::pg_catalog.timestamptz as delayed_until,
                                a.expires::pg_catalog.timestamptz as expires,
                                a.properties, a.data as data
                            from mbus4_call_args a
                            offset 0
                        ) w
                        offset 0
                    ),
                    mbus4_call_stored as (
                        insert into mbus4.message (
                            id, consumer_id, available_at, added, iid, delayed_until, expires, headers, properties, data
                        )
                        select p.id, consumer_id, p.at, p.added,
                            coalesce(
                                p.given,
                                case
                                    when case
                                        when p.delayed_until > p.added and p.queue <> 'dmq' then p.delayed_until
                                        else p.added
                                    end >= '2200-01-01Z'
                                        then p.queue || '.' || pg_catalog.current_database()::pg_catalog.text || '.' || p.id::pg_catalog.text
                                end
                            ),
                            p.delayed_until, p.expires, p.headers, p.properties, p.data
                        from mbus4_call_posted p
                        left join lateral (
                            select c.id as consumer_id,
                                case when c.selector_id is not null or c.target is not null then c end as rest
                            from mbus4.consumer c
                            where c.qname = p.queue
                            offset 0
                        ) c on true
                        where p.done is null
                            and coalesce(
                                case
                                    when consumer_id is not null
                                        then rest is null
                                        or case
                                            when (rest).target is null
                                                and not (rest).general
                                                then mbus4.has_asked(rest, p.queue, p.added, p.headers, p.properties, p.data) is true
                                            else mbus4.receives(
                                                rest, p.queue, p.id, p.added, coalesce(p.given), p.delayed_until, p.expires,
                                                p.headers, p.properties, p.data, null, false, null
                                            )
                                        end
                                end,
                                mbus4.at_post_given_361e6977(
                                    '1 _session_secret_', p.queue, p.id, p.added, null, p.delayed_until, p.expires, p.headers,
                                    p.properties, p.data, null, false
                                ) is null
                            )
                    ),
                    mbus4_call as (
                        select p.n,
                            coalesce(
                                p.done, p.given,
                                p.queue || '.' || pg_catalog.current_database()::pg_catalog.text || '.' || case
                                    when p.at < '2038-01-01Z'
                                        then (pg_catalog.date_part('epoch', p.at) * 1000000::pg_catalog.float8)::bigint::pg_catalog.text
                                    when p.at < '2200-01-01Z'
                                        then (extract(epoch from p.at) * 1000000::numeric)::bigint::pg_catalog.text
                                    else ''
                                end || p.id::pg_catalog.text
                            ) as post
                        from mbus4_call_posted p
                    )
                    select mbus4_call.post into mbus4_iid
                    from mbus4_call;
                end if;
                mbus4_error := null;
            end if;
        end loop;
    exception when others then
        if not mbus4_stopped then
            raise;
        end if;
    end;
    if mbus4_stopped then
        with mbus4_call_args (n, "qname", "cname", "msgid") as (
            select 1::bigint, 'orders'::pg_catalog.text, 'default'::pg_catalog.text, mbus4_message.iid
        ),
        mbus4_call_consumer as materialized (
            select a.n, a.msgid as msgid, c.qname as queue,
                coalesce(c.id, mbus4.at_no_consumer_56bdd364('1 _session_secret_', a.qname, a.cname)) as id
            from mbus4_call_args a
            left join mbus4.consumer c on c.qname = pg_catalog.lower(a.qname collate "C")
                and c.name = pg_catalog.lower(a.cname collate "C")
        ),
        mbus4_call_place as materialized (
            select p.available_at, p.id
            from mbus4_call_consumer k
            cross join lateral mbus4.places_of_iid(k.msgid) p
            where p.queue = k.queue
        ),
        mbus4_call_taken_by_iid as (
            delete from mbus4.message m
            where m.iid is not null
                and (m.iid, m.consumer_id) between (
                    (select k.msgid from mbus4_call_consumer k), (select k.id from mbus4_call_consumer k)
                ) and ((select k.msgid from mbus4_call_consumer k), (select k.id from mbus4_call_consumer k))
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
        mbus4_call_taken_by_place as (
            delete from mbus4.message m
            where m.consumer_id = (select k.id from mbus4_call_consumer k)
                and m.available_at = (select p.available_at from mbus4_call_place p)
                and m.id = (select p.id from mbus4_call_place p)
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
                (select k.msgid from mbus4_call_consumer k) as iid,
                m.delayed_until, m.expires, m.received, m.headers, m.properties, m.data, m.after
        ),
        mbus4_call_taken as (select * from mbus4_call_taken_by_iid union all select * from mbus4_call_taken_by_place),
        mbus4_call_enforced as (
            insert into mbus4.waiting (dep, consumer_id, id)
            select null, k.id, null
            from mbus4_call_consumer k
            where pg_catalog.num_nulls(k.n) > 0
        ),
        mbus4_call as (
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
                                                    case
                                                        when pg_catalog.starts_with(k.queue, 'temp.') then array['tempq', k.queue]
                                                    end
                                                )
                                            )
                                        end,
                                    ''
                                ),
                            d.properties, d.data
                        )::mbus4.qt_model
                end as take_from
            from mbus4_call_consumer k
            left join mbus4_call_taken d on true
        )
        select (mbus4_call.take_from).* into mbus4_message
        from mbus4_call;
        if mbus4_message.iid is null then
            null;
        elsif mbus4_retries then
            perform mbus4.at_retry_698f4eb1(
                '1 _session_secret_', row(null, mbus4_message)::mbus4.retry_target, mbus4_error, null, null
            );
        else
            with mbus4_call_args (n, "qname", "data", "headers", "properties", "delayed_until", "expires", "iid") as (
                select 1::bigint, 'dmq'::pg_catalog.text, (mbus4_message).data,
                    (mbus4_message).headers
                        operator(mbus4_hstore.||) mbus4_hstore.hstore(
                            array['dmq.added', mbus4.time_text(pg_catalog.clock_timestamp()::timestamp), 'dmq.error', mbus4_error]
                        ),
                    (mbus4_message).properties, (mbus4_message).delayed_until, (mbus4_message).expires, (mbus4_message).iid
            ),
            mbus4_call_posted as materialized (
                select w.*,
                    case when w.delayed_until > w.added and w.queue <> 'dmq' then w.delayed_until else w.added end as at,
                    case
                        when (
                            w.headers is null
                                or not w.headers operator(mbus4_hstore.?|) array['seenby', 'consume_after', 'Redeploy']
                        )
                            and (
                                w.given is null
                                    or (
                                        pg_catalog.strpos(w.given, '.' || pg_catalog.current_database()::pg_catalog.text || '.') = 0
                                            or w.given operator(pg_catalog.!~) '[.][1-9][0-9]{16,}$'
                                    )
                                    and not exists (select from mbus4.message m where m.iid = w.given)
                            )
                            then null
                        else mbus4.at_post_given_361e6977(
                            '1 _session_secret_', w.queue, w.id, w.added, w.given, w.delayed_until, w.expires, w.headers,
                            w.properties, w.data, null, false
                        )
                    end as done
                from (
                    select a.n,
                        case
                            when pg_catalog.pg_try_advisory_xact_lock_shared(
                                1835169140, pg_catalog.hashtext(pg_catalog.lower(a.qname collate "C")) & 63
                            )
                                then pg_catalog.nextval('mbus4.post_id')
                            when pg_catalog.nextval('mbus4.message_id') > 0 then pg_catalog.nextval('mbus4.post_id')
                        end as id,
                        pg_catalog.clock_timestamp() as added,
                        pg_catalog.lower(a.qname collate "C") as queue,
                        a.iid as given, a.headers as headers,
                        a.delayed_until::pg_catalog.timestamptz as delayed_until,
                        a.expires::pg_catalog.timestamptz as expires,
                        a.properties, a.data as data
                    from mbus4_call_args a
                    offset 0
                ) w
                offset 0
            ),
            mbus4_call_stored as (
                insert into mbus4.message (
                    id, consumer_id, available_at, added, iid, delayed_until, expires, headers, properties, data
                )
                select p.id, consumer_id, p.at, p.added,
                    coalesce(
                        p.given,
                        case
                            when case
                                when p.delayed_until > p.added and p.queue <> 'dmq' then p.delayed_until
                                else p.added
                            end >= '2200-01-01Z'
                                then p.queue || '.' || pg_catalog.current_database()::pg_catalog.text || '.' || p.id::pg_catalog.text
                        end
                    ),
                    p.delayed_until, p.expires, p.headers, p.properties, p.data
                from mbus4_call_posted p
                left join lateral (
                    select c.id as consumer_id, case when c.selector_id is not null or c.target is not null then c end as rest
                    from mbus4.consumer c
                    where c.qname = p.queue
                    offset 0
                ) c on true
                where p.done is null
                    and coalesce(
                        case
                            when consumer_id is not null
                                then rest is null
                                or case
                                    when (rest).target is null
                                        and not (rest).general
                                        then mbus4.has_asked(rest, p.queue, p.added, p.headers, p.properties, p.data) is true
                                    else mbus4.receives(
                                        rest, p.queue, p.id, p.added, coalesce(p.given), p.delayed_until, p.expires, p.headers,
                                        p.properties, p.data, null, false, null
                                    )
                                end
                        end,
                        mbus4.at_post_given_361e6977(
                            '1 _session_secret_', p.queue, p.id, p.added, null, p.delayed_until, p.expires, p.headers,
                            p.properties, p.data, null, false
                        ) is null
                    )
            ),
            mbus4_call as (
                select p.n,
                    coalesce(
                        p.done, p.given,
                        p.queue || '.' || pg_catalog.current_database()::pg_catalog.text || '.' || case
                            when p.at < '2038-01-01Z'
                                then (pg_catalog.date_part('epoch', p.at) * 1000000::pg_catalog.float8)::bigint::pg_catalog.text
                            when p.at < '2200-01-01Z' then (extract(epoch from p.at) * 1000000::numeric)::bigint::pg_catalog.text
                            else ''
                        end || p.id::pg_catalog.text
                    ) as post
                from mbus4_call_posted p
            )
            select mbus4_call.post into mbus4_iid
            from mbus4_call;
        end if;
    end if;
    perform pg_catalog.set_config('mbus4.result_1', mbus4_done::pg_catalog.text, true);
end
$mbus4$;
select (
    case
        when pg_catalog.num_nonnulls((case when true then null else (current_setting('app.exec')) end)::pg_catalog.text) >= 0
            then (pg_catalog.current_setting('mbus4.result_' || (1)::pg_catalog.text)::pg_catalog.int4)
    end
) as "run_on_orders";
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
create or replace function mbus4.at_post_given_361e6977(
    call text, queue text, id bigint, added timestamptz, iid text, delayed_until timestamptz, expires timestamptz,
    headers mbus4_hstore.hstore, properties mbus4_hstore.hstore, data mbus4_hstore.hstore, consumers bigint[], waits boolean
) returns text language plpgsql volatile cost 1
set plan_cache_mode = force_generic_plan
set jit = off as $mbus4$ #variable_conflict use_column declare mbus4_dmq constant boolean := $2 is not distinct from 'dmq'; mbus4_headers mbus4_hstore.hstore := case when $8 operator(mbus4_hstore.->) 'seenby'::pg_catalog.text is null then $8 operator(mbus4_hstore.-) 'seenby'::pg_catalog.text when $2 = 'dmq' then $8 else $8 operator(mbus4_hstore.||) mbus4_hstore.hstore('seenby'::pg_catalog.text, pg_catalog.array_append(case when $8 operator(mbus4_hstore.->) 'seenby'::pg_catalog.text operator(pg_catalog.!~) '^[[:space:]]*[[{]' then pg_catalog.left(pg_catalog.format('mbus4-error '||$1||' 22P02 the header seenby is not an array: %s', $8 operator(mbus4_hstore.->) 'seenby'::pg_catalog.text), 2000)::int::pg_catalog.text::pg_catalog.text[] else ($8 operator(mbus4_hstore.->) 'seenby'::pg_catalog.text)::pg_catalog.text[] end, pg_catalog.current_database()::pg_catalog.text)::pg_catalog.text) end; mbus4_wanted constant pg_catalog.text[] := case when $8 operator(mbus4_hstore.->) 'consume_after'::pg_catalog.text operator(pg_catalog.!~) '^[[:space:]]*[[{]' then pg_catalog.left(pg_catalog.format('mbus4-error '||$1||' 22P02 the header consume_after is not an array: %s', $8 operator(mbus4_hstore.->) 'consume_after'::pg_catalog.text), 2000)::int::pg_catalog.text::pg_catalog.text[] else ($8 operator(mbus4_hstore.->) 'consume_after'::pg_catalog.text)::pg_catalog.text[] end; mbus4_redeployed constant boolean := ($8 operator(mbus4_hstore.->) 'Redeploy'::pg_catalog.text)::boolean; mbus4_at constant pg_catalog.timestamptz := case when $6 > $4 and not mbus4_dmq then $6 else $4 end; mbus4_after pg_catalog.text[]; mbus4_iid pg_catalog.text := $5; mbus4_parked boolean := false; mbus4_ids bigint[] := $11; mbus4_stored bigint[]; begin if pg_catalog.cardinality(mbus4_wanted) > 0 and not mbus4_dmq then mbus4_after := mbus4_wanted; mbus4_parked := $12 or mbus4.awaits_delivery(mbus4_after); end if; if mbus4_iid is null and (mbus4_at >= '2200-01-01Z' or pg_catalog.cardinality(mbus4_wanted) > 0) then mbus4_iid := $2 || '.' || pg_catalog.current_database()::pg_catalog.text || '.' || $3::pg_catalog.text; end if; if mbus4_ids is null then select pg_catalog.array_agg(c.id) into mbus4_ids from mbus4.consumer c where c.qname = $2 and case when c.target is null and c.selector_id is null then true when c.target is null or mbus4_redeployed is not true then mbus4.receives(c, $2, $3, $4, mbus4_iid, $6, $7, mbus4_headers, $9, $10, mbus4_after, mbus4_parked, null) end; if mbus4_ids is null then perform case when exists (select from mbus4.consumer c where c.qname = $2 and c.target is null) or exists (select from mbus4.queue q where q.qname = $2) or ($2 operator(pg_catalog.~) '^temp[.][0-9a-f]{32}[.][0-9]+$' and mbus4.is_gone($2, ''||$1||'')) then 0 else pg_catalog.left(pg_catalog.format('mbus4-error '||$1||' 42704 queue %s does not exist', coalesce('"' || $2 || '"', 'null')), 2000)::int end; end if; end if; if pg_catalog.cardinality(mbus4_ids) > 0 then if $5 is null then insert into mbus4.message (id, consumer_id, available_at, added, iid, delayed_until, expires, headers, properties, data, after) select $3, s.consumer_id, case when mbus4_parked then 'infinity' else mbus4_at end, $4, mbus4_iid, $6, $7, mbus4_headers, $9, $10, mbus4_after from pg_catalog.unnest(mbus4_ids) s (consumer_id); mbus4_stored := mbus4_ids; else delete from mbus4.message m where m.iid = $5 and m.consumer_id + 0 = any(mbus4_ids) and m.expires <= $4 and m.consumer_id <> 1 and not (m.available_at > pg_catalog.clock_timestamp() and m.available_at < 'infinity' and mbus4.is_leased(m.available_at, m.delayed_until, m.headers)); with stored as ( insert into mbus4.message (id, consumer_id, available_at, added, iid, delayed_until, expires, headers, properties, data, after) select $3, s.consumer_id, case when mbus4_parked then 'infinity' else mbus4_at end, $4, mbus4_iid, $6, $7, mbus4_headers, $9, $10, mbus4_after from pg_catalog.unnest(mbus4_ids) s (consumer_id) where ( select 1 from mbus4.places_of_iid($5) i join mbus4.message o on o.consumer_id = s.consumer_id and o.available_at = i.available_at and o.id = i.id where i.queue = $2 and o.iid is null for key share of o) is null on conflict (iid, consumer_id) where iid is not null do nothing returning consumer_id ) select pg_catalog.array_agg(s.consumer_id) into mbus4_stored from stored s; if mbus4_stored is null then perform pg_catalog.left(pg_catalog.format('mbus4-error '||$1||' 23505 a message with iid "%s" is still waiting in queue "%s"', mbus4_iid, $2), 2000)::int; end if; end if; if mbus4_parked then insert into mbus4.waiting (dep, consumer_id, id) select d.dep, s.consumer_id, $3 from pg_catalog.unnest(mbus4_after) d (dep) cross join pg_catalog.unnest(mbus4_stored) s (consumer_id) where d.dep is not null on conflict do nothing; end if; end if; return coalesce(mbus4_iid, $2 || '.' || pg_catalog.current_database()::pg_catalog.text || '.' || case when mbus4_at < '2038-01-01Z' then (pg_catalog.date_part('epoch', mbus4_at) * 1000000::pg_catalog.float8)::bigint::pg_catalog.text when mbus4_at < '2200-01-01Z' then (extract(epoch from mbus4_at) * 1000000::numeric)::bigint::pg_catalog.text else '' end || $3::pg_catalog.text); end $mbus4$;
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
---- prepared
-- whenever it is bound:
do $mbus4$
declare
    mbus4_text pg_catalog.text;
    mbus4_message mbus4.qt_model;
    mbus4_done int := 0;
    mbus4_error pg_catalog.text;
    mbus4_stopped boolean := false;
    mbus4_retries constant boolean := exists (
        select
        from mbus4.consumer c
        where c.qname = pg_catalog.lower('orders' collate "C") and c.name = 'default' and c.max_attempts is not null and c.id <> 1
    );
    mbus4_iid pg_catalog.text;
    mbus4_checked boolean := exists (select from pg_catalog.pg_trigger t where t.tgdeferrable);
    mbus4_sound boolean;
begin
    execute 'select (current_setting(''app.exec''))::pg_catalog.text' into strict mbus4_text;
    if mbus4_text ~* $m$(?<!into\s*)"?mbus4"?\s*\.\s*"?\w+"?\s*\($m$ then
        raise exception using errcode = '0A000',
        message = 'argument exec of mbus4.run_on_orders must be known before the statement runs, because it contains calls of mbus4',
        hint = 'Give exec as a literal or as a bind parameter, perhaps with || between such.';
    end if;
    if mbus4_checked then
        begin
            mbus4_checked := false;
            set constraints all immediate;
            mbus4_checked := true;
            raise exception 'undone';
        exception when others or assert_failure then
            null;
        end;
    end if;
    begin
        for mbus4_message in
        with mbus4_call_args (n, "qname", "cname", "amt") as (
            select 1::bigint, 'orders'::pg_catalog.text, 'default'::pg_catalog.text, 100
        ),
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
            returning m.id, m.consumer_id, m.available_at, m.added, m.delayed_until, m.expires, m.received, m.headers,
                m.properties, m.data, m.iid
        ),
        mbus4_call as (
            select 1::bigint as n,
                row(
                    d.id, d.added::timestamp,
                    coalesce(
                        d.iid,
                        (select pg_catalog.lower(a.qname collate "C") from mbus4_call_args a) || '.' || pg_catalog.current_database()::pg_catalog.text || '.' || case
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
                                (select pg_catalog.lower(a.qname collate "C") from mbus4_call_args a),
                                'seenby',
                                array[pg_catalog.current_database()::pg_catalog.text]::pg_catalog.text,
                                'enqueue_time',
                                case
                                    when pg_catalog.starts_with(pg_catalog.current_setting('datestyle'), 'ISO')
                                        then d.added::timestamp::pg_catalog.text
                                    else mbus4.time_text(d.added::timestamp)
                                end,
                                'destination',
                                (select pg_catalog.lower(a.qname collate "C") from mbus4_call_args a)
                            ],
                            case
                                when pg_catalog.starts_with(
                                    (select pg_catalog.lower(a.qname collate "C") from mbus4_call_args a), 'temp.'
                                )
                                    then array['tempq', (select pg_catalog.lower(a.qname collate "C") from mbus4_call_args a)]
                            end
                        )
                    )
                        operator(mbus4_hstore.||) coalesce(
                            d.headers
                                operator(mbus4_hstore.||) case
                                    when d.consumer_id = 1 and mbus4_hstore.exist(d.headers, 'destination') then ''
                                    else mbus4_hstore.hstore(
                                        pg_catalog.array_cat(
                                            array[
                                                'destination',
                                                (select pg_catalog.lower(a.qname collate "C") from mbus4_call_args a)
                                            ],
                                            case
                                                when pg_catalog.starts_with(
                                                    (select pg_catalog.lower(a.qname collate "C") from mbus4_call_args a), 'temp.'
                                                )
                                                    then array[
                                                        'tempq',
                                                        (select pg_catalog.lower(a.qname collate "C") from mbus4_call_args a)
                                                    ]
                                            end
                                        )
                                    )
                                end,
                            ''
                        ),
                    d.properties, d.data
                )::mbus4.qt_model as consumen
            from (select * from mbus4_call_taken d order by d.available_at, d.id offset 0) d
        )
        select (mbus4_call.consumen).*
        from mbus4_call
        loop
            begin
                execute mbus4_text using mbus4_message;
                if mbus4_checked then
                    begin
                        mbus4_sound := false;
                        set constraints all immediate;
                        mbus4_sound := true;
                        raise exception 'undone';
                    exception when others or assert_failure then
                        if not mbus4_sound then
                            raise;
                        end if;
                    end;
                end if;
                mbus4_done := mbus4_done + 1;
            exception when others or assert_failure then
                get stacked diagnostics mbus4_error = message_text;
                mbus4_error := coalesce(
                    pg_catalog.substring(mbus4_error, 'mbus4-error [0-9]+ _session_secret_ [0-9A-Z]{5} (.*)"$'), mbus4_error
                );
            end;
            if mbus4_error is not null then
                mbus4_stopped := mbus4_done = 0;
                if mbus4_stopped then
                    raise exception 'undone';
                elsif mbus4_retries then
                    perform mbus4.at_retry_698f4eb1(
                        '1 _session_secret_', row(null, mbus4_message)::mbus4.retry_target, mbus4_error, null, null
                    );
                else
                    with mbus4_call_args (n, "qname", "data", "headers", "properties", "delayed_until", "expires", "iid") as (
                        select 1::bigint, 'dmq'::pg_catalog.text, (mbus4_message).data,
                            (mbus4_message).headers
                                operator(mbus4_hstore.||) mbus4_hstore.hstore(
                                    array[
                                        'dmq.added',
                                        mbus4.time_text(pg_catalog.clock_timestamp()::timestamp),
                                        'dmq.error', mbus4_error
                                    ]
                                ),
                            (mbus4_message).properties, (mbus4_message).delayed_until, (mbus4_message).expires,
                            (mbus4_message).iid
                    ),
                    mbus4_call_posted as materialized (
                        select w.*,
                            case when w.delayed_until > w.added and w.queue <> 'dmq' then w.delayed_until else w.added end as at,
                            case
                                when (
                                    w.headers is null
                                        or not w.headers operator(mbus4_hstore.?|) array['seenby', 'consume_after', 'Redeploy']
                                )
                                    and (
                                        w.given is null
                                            or (
                                                pg_catalog.strpos(
                                                    w.given, '.' || pg_catalog.current_database()::pg_catalog.text || '.'
                                                ) = 0
                                                    or w.given operator(pg_catalog.!~) '[.][1-9][0-9]{16,}$'
                                            )
                                            and not exists (select from mbus4.message m where m.iid = w.given)
                                    )
                                    then null
                                else mbus4.at_post_given_361e6977(
                                    '1 _session_secret_', w.queue, w.id, w.added, w.given, w.delayed_until, w.expires, w.headers,
                                    w.properties, w.data, null, false
                                )
                            end as done
                        from (
                            select a.n,
                                case
                                    when pg_catalog.pg_try_advisory_xact_lock_shared(
                                        1835169140, pg_catalog.hashtext(pg_catalog.lower(a.qname collate "C")) & 63
                                    )
                                        then pg_catalog.nextval('mbus4.post_id')
                                    when pg_catalog.nextval('mbus4.message_id') > 0 then pg_catalog.nextval('mbus4.post_id')
                                end as id,
                                pg_catalog.clock_timestamp() as added,
                                pg_catalog.lower(a.qname collate "C") as queue,
                                a.iid as given, a.headers as headers,
                                a.delayed_until::pg_catalog.timestamptz as delayed_until,
                                a.expires::pg_catalog.timestamptz as expires,
                                a.properties, a.data as data
                            from mbus4_call_args a
                            offset 0
                        ) w
                        offset 0
                    ),
                    mbus4_call_stored as (
                        insert into mbus4.message (
                            id, consumer_id, available_at, added, iid, delayed_until, expires, headers, properties, data
                        )
                        select p.id, consumer_id, p.at, p.added,
                            coalesce(
                                p.given,
                                case
                                    when case
                                        when p.delayed_until > p.added and p.queue <> 'dmq' then p.delayed_until
                                        else p.added
                                    end >= '2200-01-01Z'
                                        then p.queue || '.' || pg_catalog.current_database()::pg_catalog.text || '.' || p.id::pg_catalog.text
                                end
                            ),
                            p.delayed_until, p.expires, p.headers, p.properties, p.data
                        from mbus4_call_posted p
                        left join lateral (
                            select c.id as consumer_id,
                                case when c.selector_id is not null or c.target is not null then c end as rest
                            from mbus4.consumer c
                            where c.qname = p.queue
                            offset 0
                        ) c on true
                        where p.done is null
                            and coalesce(
                                case
                                    when consumer_id is not null
                                        then rest is null
                                        or case
                                            when (rest).target is null
                                                and not (rest).general
                                                then mbus4.has_asked(rest, p.queue, p.added, p.headers, p.properties, p.data) is true
                                            else mbus4.receives(
                                                rest, p.queue, p.id, p.added, coalesce(p.given), p.delayed_until, p.expires,
                                                p.headers, p.properties, p.data, null, false, null
                                            )
                                        end
                                end,
                                mbus4.at_post_given_361e6977(
                                    '1 _session_secret_', p.queue, p.id, p.added, null, p.delayed_until, p.expires, p.headers,
                                    p.properties, p.data, null, false
                                ) is null
                            )
                    ),
                    mbus4_call as (
                        select p.n,
                            coalesce(
                                p.done, p.given,
                                p.queue || '.' || pg_catalog.current_database()::pg_catalog.text || '.' || case
                                    when p.at < '2038-01-01Z'
                                        then (pg_catalog.date_part('epoch', p.at) * 1000000::pg_catalog.float8)::bigint::pg_catalog.text
                                    when p.at < '2200-01-01Z'
                                        then (extract(epoch from p.at) * 1000000::numeric)::bigint::pg_catalog.text
                                    else ''
                                end || p.id::pg_catalog.text
                            ) as post
                        from mbus4_call_posted p
                    )
                    select mbus4_call.post into mbus4_iid
                    from mbus4_call;
                end if;
                mbus4_error := null;
            end if;
        end loop;
    exception when others then
        if not mbus4_stopped then
            raise;
        end if;
    end;
    if mbus4_stopped then
        with mbus4_call_args (n, "qname", "cname", "msgid") as (
            select 1::bigint, 'orders'::pg_catalog.text, 'default'::pg_catalog.text, mbus4_message.iid
        ),
        mbus4_call_consumer as materialized (
            select a.n, a.msgid as msgid, c.qname as queue,
                coalesce(c.id, mbus4.at_no_consumer_56bdd364('1 _session_secret_', a.qname, a.cname)) as id
            from mbus4_call_args a
            left join mbus4.consumer c on c.qname = pg_catalog.lower(a.qname collate "C")
                and c.name = pg_catalog.lower(a.cname collate "C")
        ),
        mbus4_call_place as materialized (
            select p.available_at, p.id
            from mbus4_call_consumer k
            cross join lateral mbus4.places_of_iid(k.msgid) p
            where p.queue = k.queue
        ),
        mbus4_call_taken_by_iid as (
            delete from mbus4.message m
            where m.iid is not null
                and (m.iid, m.consumer_id) between (
                    (select k.msgid from mbus4_call_consumer k), (select k.id from mbus4_call_consumer k)
                ) and ((select k.msgid from mbus4_call_consumer k), (select k.id from mbus4_call_consumer k))
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
        mbus4_call_taken_by_place as (
            delete from mbus4.message m
            where m.consumer_id = (select k.id from mbus4_call_consumer k)
                and m.available_at = (select p.available_at from mbus4_call_place p)
                and m.id = (select p.id from mbus4_call_place p)
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
                (select k.msgid from mbus4_call_consumer k) as iid,
                m.delayed_until, m.expires, m.received, m.headers, m.properties, m.data, m.after
        ),
        mbus4_call_taken as (select * from mbus4_call_taken_by_iid union all select * from mbus4_call_taken_by_place),
        mbus4_call_enforced as (
            insert into mbus4.waiting (dep, consumer_id, id)
            select null, k.id, null
            from mbus4_call_consumer k
            where pg_catalog.num_nulls(k.n) > 0
        ),
        mbus4_call as (
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
                                                    case
                                                        when pg_catalog.starts_with(k.queue, 'temp.') then array['tempq', k.queue]
                                                    end
                                                )
                                            )
                                        end,
                                    ''
                                ),
                            d.properties, d.data
                        )::mbus4.qt_model
                end as take_from
            from mbus4_call_consumer k
            left join mbus4_call_taken d on true
        )
        select (mbus4_call.take_from).* into mbus4_message
        from mbus4_call;
        if mbus4_message.iid is null then
            null;
        elsif mbus4_retries then
            perform mbus4.at_retry_698f4eb1(
                '1 _session_secret_', row(null, mbus4_message)::mbus4.retry_target, mbus4_error, null, null
            );
        else
            with mbus4_call_args (n, "qname", "data", "headers", "properties", "delayed_until", "expires", "iid") as (
                select 1::bigint, 'dmq'::pg_catalog.text, (mbus4_message).data,
                    (mbus4_message).headers
                        operator(mbus4_hstore.||) mbus4_hstore.hstore(
                            array['dmq.added', mbus4.time_text(pg_catalog.clock_timestamp()::timestamp), 'dmq.error', mbus4_error]
                        ),
                    (mbus4_message).properties, (mbus4_message).delayed_until, (mbus4_message).expires, (mbus4_message).iid
            ),
            mbus4_call_posted as materialized (
                select w.*,
                    case when w.delayed_until > w.added and w.queue <> 'dmq' then w.delayed_until else w.added end as at,
                    case
                        when (
                            w.headers is null
                                or not w.headers operator(mbus4_hstore.?|) array['seenby', 'consume_after', 'Redeploy']
                        )
                            and (
                                w.given is null
                                    or (
                                        pg_catalog.strpos(w.given, '.' || pg_catalog.current_database()::pg_catalog.text || '.') = 0
                                            or w.given operator(pg_catalog.!~) '[.][1-9][0-9]{16,}$'
                                    )
                                    and not exists (select from mbus4.message m where m.iid = w.given)
                            )
                            then null
                        else mbus4.at_post_given_361e6977(
                            '1 _session_secret_', w.queue, w.id, w.added, w.given, w.delayed_until, w.expires, w.headers,
                            w.properties, w.data, null, false
                        )
                    end as done
                from (
                    select a.n,
                        case
                            when pg_catalog.pg_try_advisory_xact_lock_shared(
                                1835169140, pg_catalog.hashtext(pg_catalog.lower(a.qname collate "C")) & 63
                            )
                                then pg_catalog.nextval('mbus4.post_id')
                            when pg_catalog.nextval('mbus4.message_id') > 0 then pg_catalog.nextval('mbus4.post_id')
                        end as id,
                        pg_catalog.clock_timestamp() as added,
                        pg_catalog.lower(a.qname collate "C") as queue,
                        a.iid as given, a.headers as headers,
                        a.delayed_until::pg_catalog.timestamptz as delayed_until,
                        a.expires::pg_catalog.timestamptz as expires,
                        a.properties, a.data as data
                    from mbus4_call_args a
                    offset 0
                ) w
                offset 0
            ),
            mbus4_call_stored as (
                insert into mbus4.message (
                    id, consumer_id, available_at, added, iid, delayed_until, expires, headers, properties, data
                )
                select p.id, consumer_id, p.at, p.added,
                    coalesce(
                        p.given,
                        case
                            when case
                                when p.delayed_until > p.added and p.queue <> 'dmq' then p.delayed_until
                                else p.added
                            end >= '2200-01-01Z'
                                then p.queue || '.' || pg_catalog.current_database()::pg_catalog.text || '.' || p.id::pg_catalog.text
                        end
                    ),
                    p.delayed_until, p.expires, p.headers, p.properties, p.data
                from mbus4_call_posted p
                left join lateral (
                    select c.id as consumer_id, case when c.selector_id is not null or c.target is not null then c end as rest
                    from mbus4.consumer c
                    where c.qname = p.queue
                    offset 0
                ) c on true
                where p.done is null
                    and coalesce(
                        case
                            when consumer_id is not null
                                then rest is null
                                or case
                                    when (rest).target is null
                                        and not (rest).general
                                        then mbus4.has_asked(rest, p.queue, p.added, p.headers, p.properties, p.data) is true
                                    else mbus4.receives(
                                        rest, p.queue, p.id, p.added, coalesce(p.given), p.delayed_until, p.expires, p.headers,
                                        p.properties, p.data, null, false, null
                                    )
                                end
                        end,
                        mbus4.at_post_given_361e6977(
                            '1 _session_secret_', p.queue, p.id, p.added, null, p.delayed_until, p.expires, p.headers,
                            p.properties, p.data, null, false
                        ) is null
                    )
            ),
            mbus4_call as (
                select p.n,
                    coalesce(
                        p.done, p.given,
                        p.queue || '.' || pg_catalog.current_database()::pg_catalog.text || '.' || case
                            when p.at < '2038-01-01Z'
                                then (pg_catalog.date_part('epoch', p.at) * 1000000::pg_catalog.float8)::bigint::pg_catalog.text
                            when p.at < '2200-01-01Z' then (extract(epoch from p.at) * 1000000::numeric)::bigint::pg_catalog.text
                            else ''
                        end || p.id::pg_catalog.text
                    ) as post
                from mbus4_call_posted p
            )
            select mbus4_call.post into mbus4_iid
            from mbus4_call;
        end if;
    end if;
    perform pg_catalog.set_config('mbus4.result_1', mbus4_done::pg_catalog.text, true);
end
$mbus4$;
-- when it is parsed:
select (
    case
        when pg_catalog.num_nonnulls((case when true then null else (current_setting('app.exec')) end)::pg_catalog.text) >= 0
            then (pg_catalog.current_setting('mbus4.result_' || (1)::pg_catalog.text)::pg_catalog.int4)
    end
) as "run_on_orders"
