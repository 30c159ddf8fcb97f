select mbus4.run_on_orders('insert into done select ($1).iid')
----
-- for a database without messages that wait for others; --admin names one to look at
-- line 1, column 8: mbus4.run_on_orders(exec text) returns integer
--   by a statement of its own, which runs first
-- the server gets:
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
