select mbus4.post('orders', 'id=>1', iid => 'order-1')
----
-- for a database without selectors and without messages that wait for others, hstore in schema public; --admin names one to look at
-- line 1, column 8: mbus4.post(qname text, data hstore, headers hstore default null, properties hstore default null, delayed_until timestamp without time zone default null, expires timestamp without time zone default null, iid text default null) returns text
--   inline, by WITH queries
-- sent again and again, it is run by a statement that is prepared in the session, in which these literals are parameters: 'orders', 'id=>1', 'order-1'
-- the server gets:
with mbus4_call1_args(n, "qname", "data", "headers", "properties", "delayed_until", "expires", "iid") as (
    select 1::bigint, ('orders')::pg_catalog.text, ('id=>1')::public.hstore, null::public.hstore, null::public.hstore,
        null::timestamp without time zone, null::timestamp without time zone, ('order-1')::pg_catalog.text
),
mbus4_call1_posted as materialized (
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
                    else x.queue || '.' || pg_catalog.current_database() || '.' || (extract(epoch from x.at) * 1000000)::bigint || x.id
                end
            ) as iid,
            x.given is not null or x.at >= '2200-01-01Z' or coalesce(pg_catalog.cardinality(x.wanted), 0) > 0 as stored
        from (
            select v.*, case when v.delayed_until > v.added and v.queue <> 'dmq' then v.delayed_until else v.added end as at
            from (
                select w.*, pg_catalog.clock_timestamp() as added,
                    case
                        when w.caller operator(public.->) 'seenby'::text is null then w.caller operator(public.-) 'seenby'::text
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
                            when exists (select from mbus4.queue q where q.qname = pg_catalog.lower(a.qname collate "C"))
                                or (
                                    pg_catalog.lower(a.qname collate "C") operator(pg_catalog.~) '^temp[.][0-9a-f]{32}[.][0-9]+$'
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
                            when a.headers operator(public.->) 'consume_after'::text operator(pg_catalog.!~) '^[[:space:]]*[[{]'
                                then pg_catalog.format(
                                    'mbus4-error 1 _session_secret_ 22P02 the header consume_after is no array: %s',
                                    a.headers operator(public.->) 'consume_after'::text
                                )::int::text::text[]
                            else (a.headers operator(public.->) 'consume_after'::text)::text[]
                        end as wanted,
                        (a.headers operator(public.->) 'Redeploy'::text)::boolean as redeployed,
                        a.properties, a.data
                    from mbus4_call1_args a
                    offset 0
                ) w
                offset 0
            ) v
            offset 0
        ) x
        offset 0
    ) y
),
mbus4_call1_subscribed as materialized (
    select p.*, r.consumer_id, r.target,
        r.consumer_id is not null
            and p.given is not null
            and (
                select 1
                from mbus4.place_of_iid(p.given) i
                join mbus4.message o on o.consumer_id = r.consumer_id and o.available_at = i.available_at and o.id = i.id
                where i.queue = p.queue and o.iid is null
                for key share of o
            ) is not null as held,
        case
            when r.target is not null
                then mbus4.forward(
                    p.queue,
                    mbus4.posted_row(p.id, p.queue, p.added, p.iid, p.delayed_until, p.expires, p.headers, p.properties, p.data),
                    p.headers, p.delayed_until, p.expires, p.after
                )
        end as copies
    from mbus4_call1_posted p
    left join lateral (
        select c.id as consumer_id, null as target
        from (
            select case
                when exists (
                    select from mbus4.consumer c where c.qname = p.queue and c.target is null and c.selector_id is not null
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
        join mbus4.consumer c on c.qname = p.queue and c.target is null and (c.selector_id is null or c.id = any(s.selecting))
        union all (
            select null, c.target
            from mbus4.consumer c
            where c.qname = p.queue and c.target is not null and p.redeployed is not true
            limit 1
        )
    ) r on true
),
mbus4_call1_expired as (
    delete from mbus4.message m using mbus4_call1_subscribed w
    where m.iid = w.given and m.consumer_id = w.consumer_id and m.expires <= w.added and m.consumer_id <> 1
    returning m.id
),
mbus4_call1_stored as (
    insert into mbus4.message (
        id, consumer_id, available_at, added, iid, delayed_until, expires, headers, properties, data, after
    )
    select w.id, w.consumer_id,
        case when w.parked then 'infinity' else w.at end,
        w.added, case when w.stored then w.iid end, w.delayed_until, w.expires, w.headers, w.properties, w.data, w.after
    from mbus4_call1_subscribed w
    where w.consumer_id is not null and not w.held and (select pg_catalog.count(*) from mbus4_call1_expired) >= 0
    on conflict (iid, consumer_id)
    where iid is not null do nothing
    returning id, consumer_id
),
mbus4_call1_checked as materialized (
    select w.n,
        case
            when pg_catalog.count(w.consumer_id) = 0 or pg_catalog.count(m.id) > 0 then pg_catalog.min(w.iid)
            else pg_catalog.format(
                'mbus4-error 1 _session_secret_ 23505 a message with iid "%s" is still waiting in queue "%s"',
                pg_catalog.min(w.iid), pg_catalog.min(w.queue)
            )::int::text
        end as post
    from mbus4_call1_subscribed w
    left join (select distinct id from mbus4_call1_stored) m on m.id = w.id
    group by w.n
),
mbus4_call1_waiting as (
    insert into mbus4.waiting (dep, consumer_id, id)
    select distinct dep, m.consumer_id, m.id
    from mbus4_call1_stored m
    join mbus4_call1_subscribed w on w.id = m.id and w.consumer_id = m.consumer_id and w.parked
    cross join pg_catalog.unnest(w.after) dep
    where dep is not null
    union all select null, null, null
    from mbus4_call1_checked
    where pg_catalog.num_nulls(mbus4_call1_checked.n) > 0
),
mbus4_call1 as (select r.n, r.post from mbus4_call1_checked r)
select (select "post" as "post" from mbus4_call1);
