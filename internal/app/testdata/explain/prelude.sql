select mbus4.run_on_orders('insert into done select ($1).iid')
----
-- for a database without selectors and without messages that wait for others, hstore in schema public; --admin names one to look at
-- line 1, column 8: mbus4.run_on_orders(exec text) returns integer
--   by a statement of its own, which runs first
-- the server gets:
do $mbus4$
declare
    mbus4_text text;
    mbus4_message mbus4.qt_model;
    mbus4_done int := 0;
    mbus4_error text;
    mbus4_iid text;
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
    for mbus4_message in
    with mbus4_call_args (n, "qname", "cname", "amt") as (select 1::bigint, 'orders'::text, 'default'::text, 100),
    mbus4_call_consumer as materialized (
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
            case
                when a.amt < 0
                    then pg_catalog.format(
                        'mbus4-error 1 _session_secret_ 2201W the number of messages must not be negative, but it is %s', a.amt
                    )::int
                else a.amt
            end as amt,
            pg_catalog.clock_timestamp() as now,
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
        from mbus4_call_args a
        left join mbus4.consumer c on c.qname = pg_catalog.lower(a.qname collate "C")
            and c.name = pg_catalog.lower(a.cname collate "C")
    ),
    mbus4_call_taken as (
        delete from mbus4.message m
        where m.ctid = any(
            array(
                select x.ctid
                from mbus4.message x
                where x.consumer_id = (select k.id from mbus4_call_consumer k)
                    and (x.available_at, x.id) >= ((select k.low from mbus4_call_consumer k), 0)
                    and x.available_at <= (select k.now from mbus4_call_consumer k)
                    and (
                        case
                            when x.expires <= (select k.now from mbus4_call_consumer k) and x.consumer_id <> 1 then null
                            when x.after is not null and mbus4.any_undelivered(x.after) then null
                            else 0
                        end
                    ) is not null
                order by x.available_at, x.id
                limit (select k.amt from mbus4_call_consumer k)
                for update skip locked
            )
        )
        returning m.id, m.consumer_id, m.available_at, m.added::timestamp as added,
            m.delayed_until::timestamp as delayed_until,
            m.expires, m.received, m.headers, m.properties, m.data,
            coalesce(
                m.iid,
                (select k.queue from mbus4_call_consumer k) || '.' || pg_catalog.current_database() || '.' || (
                    extract(epoch from m.available_at) * 1000000
                )::bigint || m.id
            ) as iid
    ),
    mbus4_call as (
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
            )::mbus4.qt_model as consumen
        from mbus4_call_taken d, mbus4_call_consumer k
        order by d.available_at, d.id
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
            with mbus4_call_args (n, "qname", "data", "headers", "properties", "delayed_until", "expires", "iid") as (
                select 1::bigint, 'dmq'::text, (mbus4_message).data,
                    (mbus4_message).headers
                        operator(public.||) public.hstore(
                            array['dmq.added', mbus4.time_text(pg_catalog.clock_timestamp()::timestamp), 'dmq.error', mbus4_error]
                        ),
                    (mbus4_message).properties, (mbus4_message).delayed_until, (mbus4_message).expires, (mbus4_message).iid
            ),
            mbus4_call_posted as materialized (
                select y.*,
                    y.queue <> 'dmq' and y.wanted is not null and mbus4.any_undelivered(y.wanted) as parked,
                    case when y.queue <> 'dmq' and pg_catalog.cardinality(y.wanted) > 0 then y.wanted end as after
                from (
                    select x.*,
                        coalesce(
                            x.given,
                            case
                                when x.at >= '2200-01-01Z'
                                    or pg_catalog.cardinality(x.wanted) > 0
                                    then x.queue || '.' || pg_catalog.current_database() || '.' || x.id
                                else x.queue || '.' || pg_catalog.current_database() || '.' || (
                                    extract(epoch from x.at) * 1000000
                                )::bigint || x.id
                            end
                        ) as iid,
                        x.given is not null
                            or x.at >= '2200-01-01Z'
                            or coalesce(pg_catalog.cardinality(x.wanted), 0) > 0 as stored
                    from (
                        select v.*,
                            case when v.delayed_until > v.added and v.queue <> 'dmq' then v.delayed_until else v.added end as at
                        from (
                            select w.*, pg_catalog.clock_timestamp() as added,
                                case
                                    when w.caller operator(public.->) 'seenby'::text is null
                                        then w.caller operator(public.-) 'seenby'::text
                                    when w.queue = 'dmq' then w.caller
                                    else w.caller
                                        operator(public.||) public.hstore(
                                            'seenby'::text,
                                            pg_catalog.array_append(
                                                case
                                                    when w.caller
                                                        operator(public.->) 'seenby'::text
                                                        operator(pg_catalog.!~) '^[[:space:]]*[[{]'
                                                        then pg_catalog.format(
                                                            'mbus4-error 1 _session_secret_ 22P02 the header seenby is no array: %s',
                                                            w.caller operator(public.->) 'seenby'::text
                                                        )::int::text::text[]
                                                    else (w.caller operator(public.->) 'seenby'::text)::text[]
                                                end,
                                                pg_catalog.current_database()::text
                                            )::text
                                        )
                                end as headers
                            from (
                                select a.n,
                                    pg_catalog.nextval('mbus4.message_id') as id,
                                    case
                                        when exists (
                                            select from mbus4.queue q where q.qname = pg_catalog.lower(a.qname collate "C")
                                        )
                                            or (
                                                pg_catalog.lower(a.qname collate "C")
                                                    operator(pg_catalog.~) '^temp[.][0-9a-f]{32}[.][0-9]+$'
                                                    and mbus4.is_gone(pg_catalog.lower(a.qname collate "C"), '1 _session_secret_')
                                            )
                                            then pg_catalog.lower(a.qname collate "C")
                                        else pg_catalog.format(
                                            'mbus4-error 1 _session_secret_ 42704 queue %s does not exist',
                                            coalesce('"' || pg_catalog.lower(a.qname collate "C") || '"', 'null')
                                        )::int::text
                                    end as queue,
                                    a.iid as given,
                                    a.delayed_until::timestamptz as delayed_until,
                                    a.expires::timestamptz as expires, a.headers as caller,
                                    case
                                        when a.headers
                                            operator(public.->) 'consume_after'::text
                                            operator(pg_catalog.!~) '^[[:space:]]*[[{]'
                                            then pg_catalog.format(
                                                'mbus4-error 1 _session_secret_ 22P02 the header consume_after is no array: %s',
                                                a.headers operator(public.->) 'consume_after'::text
                                            )::int::text::text[]
                                        else (a.headers operator(public.->) 'consume_after'::text)::text[]
                                    end as wanted,
                                    (a.headers operator(public.->) 'Redeploy'::text)::boolean as redeployed,
                                    a.properties, a.data
                                from mbus4_call_args a
                                offset 0
                            ) w
                            offset 0
                        ) v
                        offset 0
                    ) x
                    offset 0
                ) y
            ),
            mbus4_call_subscribed as materialized (
                select p.*, r.consumer_id, r.target,
                    r.consumer_id is not null
                        and p.given is not null
                        and (
                            select 1
                            from mbus4.place_of_iid(p.given) i
                            join mbus4.message o on o.consumer_id = r.consumer_id
                                and o.available_at = i.available_at
                                and o.id = i.id
                            where i.queue = p.queue and o.iid is null
                            for key share of o
                        ) is not null as held,
                    case
                        when r.target is not null
                            then mbus4.forward(
                                p.queue,
                                mbus4.posted_row(
                                    p.id, p.queue, p.added, p.iid, p.delayed_until, p.expires, p.headers, p.properties, p.data
                                ),
                                p.headers, p.delayed_until, p.expires, p.after
                            )
                    end as copies
                from mbus4_call_posted p
                left join lateral (
                    select c.id as consumer_id, null as target
                    from (
                        select case
                            when exists (
                                select
                                from mbus4.consumer c
                                where c.qname = p.queue and c.target is null and c.selector_id is not null
                            )
                                then mbus4.selecting_consumers(
                                    p.queue, false,
                                    mbus4.posted_row(
                                        p.id, p.queue, p.added, p.iid, p.delayed_until, p.expires, p.headers, p.properties, p.data
                                    )
                                )
                        end as selecting
                        offset 0
                    ) s
                    join mbus4.consumer c on c.qname = p.queue
                        and c.target is null
                        and (c.selector_id is null or c.id = any(s.selecting))
                    union all (
                        select null, c.target
                        from mbus4.consumer c
                        where c.qname = p.queue and c.target is not null and p.redeployed is not true
                        limit 1
                    )
                ) r on true
            ),
            mbus4_call_expired as (
                delete from mbus4.message m using mbus4_call_subscribed w
                where m.iid = w.given and m.consumer_id = w.consumer_id and m.expires <= w.added and m.consumer_id <> 1
                returning m.id
            ),
            mbus4_call_stored as (
                insert into mbus4.message (
                    id, consumer_id, available_at, added, iid, delayed_until, expires, headers, properties, data, after
                )
                select w.id, w.consumer_id,
                    case when w.parked then 'infinity' else w.at end,
                    w.added, case when w.stored then w.iid end, w.delayed_until, w.expires, w.headers, w.properties, w.data,
                    w.after
                from mbus4_call_subscribed w
                where w.consumer_id is not null and not w.held and (select pg_catalog.count(*) from mbus4_call_expired) >= 0
                on conflict (iid, consumer_id)
                where iid is not null do nothing
                returning id, consumer_id
            ),
            mbus4_call_checked as materialized (
                select w.n,
                    case
                        when pg_catalog.count(w.consumer_id) = 0 or pg_catalog.count(m.id) > 0 then pg_catalog.min(w.iid)
                        else pg_catalog.format(
                            'mbus4-error 1 _session_secret_ 23505 a message with iid "%s" is still waiting in queue "%s"',
                            pg_catalog.min(w.iid), pg_catalog.min(w.queue)
                        )::int::text
                    end as post
                from mbus4_call_subscribed w
                left join (select distinct id from mbus4_call_stored) m on m.id = w.id
                group by w.n
            ),
            mbus4_call_waiting as (
                insert into mbus4.waiting (dep, consumer_id, id)
                select distinct dep, m.consumer_id, m.id
                from mbus4_call_stored m
                join mbus4_call_subscribed w on w.id = m.id and w.consumer_id = m.consumer_id and w.parked
                cross join pg_catalog.unnest(w.after) dep
                where dep is not null
                union all select null, null, null
                from mbus4_call_checked
                where pg_catalog.num_nulls(mbus4_call_checked.n) > 0
            ),
            mbus4_call as (select r.n, r.post from mbus4_call_checked r)
            select mbus4_call.post into mbus4_iid
            from mbus4_call;
        end;
    end loop;
    perform pg_catalog.set_config('mbus4.result_1', mbus4_done::text, true);
end
$mbus4$;
select (pg_catalog.current_setting('mbus4.result_' || 1)::pg_catalog.int4) as "run_on_orders";
