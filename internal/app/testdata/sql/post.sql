# The plainest.
select mbus4.post('orders', 'id=>1')
----
with mbus4_call1_args(n, "qname", "data", "headers", "properties", "delayed_until", "expires", "iid") as (
    select 1::bigint, ('orders')::pg_catalog.text, ('id=>1')::public.hstore, null::public.hstore, null::public.hstore,
        null::timestamp without time zone, null::timestamp without time zone, null::pg_catalog.text
),
mbus4_call1_posted as materialized (
    select z.n, z.id, z.queue, z.added, z.at, z.delayed_until, z.expires, z.properties, z.data, z.iid,
        case
            when z.choosy
                or z.routed
                then mbus4.subscribers_late(
                    z.consumers, z.queue, z.id, z.added, z.iid, z.delayed_until, z.expires, z.properties, z.data
                )
            else z.consumers
        end as consumers
    from (
        select y.*,
            y.prefix || case
                when y.at < '2038-01-01Z' then (pg_catalog.date_part('epoch', y.at) * 1000000)::bigint::text
                when y.at < '2200-01-01Z' then (extract(epoch from y.at) * 1000000)::bigint::text
                else ''
            end || y.id as iid
        from (
            select x.*, case when x.delayed_until > x.added and x.queue <> 'dmq' then x.delayed_until else x.added end as at
            from (
                select a.n,
                    pg_catalog.nextval('mbus4.message_id') as id,
                    pg_catalog.clock_timestamp() as added,
                    case
                        when r.consumers is not null
                            or exists (select from mbus4.queue q where q.qname = pg_catalog.lower(a.qname collate "C"))
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
                    (pg_catalog.lower(a.qname collate "C") || '.' || pg_catalog.current_database() || '.') as prefix,
                    a.delayed_until::timestamptz as delayed_until,
                    a.expires::timestamptz as expires, a.properties, a.data, r.consumers, r.choosy, r.general, r.routed
                from mbus4_call1_args a
                left join lateral (
                    select pg_catalog.array_agg(c.id) filter (where c.target is null and c.selector_id is null) as consumers,
                        pg_catalog.bool_or(c.target is null and c.selector_id is not null) as choosy,
                        pg_catalog.bool_or(c.target is null and c.general) as general,
                        pg_catalog.bool_or(c.target is not null) as routed
                    from mbus4.consumer c
                    where c.qname = pg_catalog.lower(a.qname collate "C")
                ) r on true
                offset 0
            ) x
        ) y
        offset 0
    ) z
),
mbus4_call1_stored as (
    insert into mbus4.message (id, consumer_id, available_at, added, iid, delayed_until, expires, properties, data)
    select p.id, pg_catalog.unnest(p.consumers), p.at, p.added,
        case when p.at >= '2200-01-01Z' then p.iid end,
        p.delayed_until, p.expires, p.properties, p.data
    from mbus4_call1_posted p
),
mbus4_call1 as (select p.n, p.iid as post from mbus4_call1_posted p)
select (select "post" as "post" from mbus4_call1)

# With all that can be given, in a database where messages wait for others and consumers have selectors.
select mbus4.post($1, $2, $3, $4, $5, $6, $7)
----
with mbus4_call1_args(n, "qname", "data", "headers", "properties", "delayed_until", "expires", "iid") as (
    select 1::bigint, ($1)::pg_catalog.text, ($2)::public.hstore, ($3)::public.hstore, ($4)::public.hstore,
        ($5)::timestamp without time zone, ($6)::timestamp without time zone, ($7)::pg_catalog.text
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
select (select "post" as "post" from mbus4_call1)

# In a database with selectors: to consumers that have some, and to those of a trigger.
select mbus4.post('orders', 'id=>1')
----
with mbus4_call1_args(n, "qname", "data", "headers", "properties", "delayed_until", "expires", "iid") as (
    select 1::bigint, ('orders')::pg_catalog.text, ('id=>1')::public.hstore, null::public.hstore, null::public.hstore,
        null::timestamp without time zone, null::timestamp without time zone, null::pg_catalog.text
),
mbus4_call1_posted as materialized (
    select z.n, z.id, z.queue, z.added, z.at, z.delayed_until, z.expires, z.properties, z.data, z.iid,
        case
            when z.choosy
                then pg_catalog.array_cat(
                    z.consumers,
                    pg_catalog.array_cat(
                        (
                            select pg_catalog.array_agg(c.id::bigint)
                            from mbus4.consumer c
                            where c.qname = z.queue
                                and c.target is null
                                and c.selector_id is not null
                                and not c.general
                                and (c.asks_properties is null or z.properties operator(public.@>) c.asks_properties)
                                and (c.asks_data is null or z.data operator(public.@>) c.asks_data)
                                and (
                                    c.asks_headers is null
                                        or (
                                            mbus4.posted_row(
                                                z.id, z.queue, z.added, z.iid, z.delayed_until, z.expires, null, z.properties,
                                                z.data
                                            )
                                        ).headers
                                            operator(public.@>) c.asks_headers
                                )
                        ),
                        case
                            when z.general
                                then mbus4.general_consumers(
                                    z.queue, false,
                                    mbus4.posted_row(
                                        z.id, z.queue, z.added, z.iid, z.delayed_until, z.expires, null, z.properties, z.data
                                    )
                                )
                        end
                    )
                )
            else z.consumers
        end as consumers,
        case
            when z.routed
                then mbus4.forward(
                    z.queue,
                    mbus4.posted_row(z.id, z.queue, z.added, z.iid, z.delayed_until, z.expires, null, z.properties, z.data),
                    null, z.delayed_until, z.expires, null
                )
        end as copies
    from (
        select y.*,
            y.prefix || case
                when y.at < '2038-01-01Z' then (pg_catalog.date_part('epoch', y.at) * 1000000)::bigint::text
                when y.at < '2200-01-01Z' then (extract(epoch from y.at) * 1000000)::bigint::text
                else ''
            end || y.id as iid
        from (
            select x.*, case when x.delayed_until > x.added and x.queue <> 'dmq' then x.delayed_until else x.added end as at
            from (
                select a.n,
                    pg_catalog.nextval('mbus4.message_id') as id,
                    pg_catalog.clock_timestamp() as added,
                    case
                        when r.consumers is not null
                            or exists (select from mbus4.queue q where q.qname = pg_catalog.lower(a.qname collate "C"))
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
                    (pg_catalog.lower(a.qname collate "C") || '.' || pg_catalog.current_database() || '.') as prefix,
                    a.delayed_until::timestamptz as delayed_until,
                    a.expires::timestamptz as expires, a.properties, a.data, r.consumers, r.choosy, r.general, r.routed
                from mbus4_call1_args a
                left join lateral (
                    select pg_catalog.array_agg(c.id) filter (where c.target is null and c.selector_id is null) as consumers,
                        pg_catalog.bool_or(c.target is null and c.selector_id is not null) as choosy,
                        pg_catalog.bool_or(c.target is null and c.general) as general,
                        pg_catalog.bool_or(c.target is not null) as routed
                    from mbus4.consumer c
                    where c.qname = pg_catalog.lower(a.qname collate "C")
                ) r on true
                offset 0
            ) x
        ) y
        offset 0
    ) z
),
mbus4_call1_stored as (
    insert into mbus4.message (id, consumer_id, available_at, added, iid, delayed_until, expires, properties, data)
    select p.id, pg_catalog.unnest(p.consumers), p.at, p.added,
        case when p.at >= '2200-01-01Z' then p.iid end,
        p.delayed_until, p.expires, p.properties, p.data
    from mbus4_call1_posted p
),
mbus4_call1 as (select p.n, p.iid as post from mbus4_call1_posted p)
select (select "post" as "post" from mbus4_call1)

# For each row of a set: all to one queue,
insert into log (iid) select mbus4.post('orders', hstore(o)) from orders o
----
with mbus4_rows1 as (select 1::bigint as n, s.* from (select null, (hstore(o))::public.hstore from orders o) as s(h1, h2)),
mbus4_call1_args(n, "qname", "data", "headers", "properties", "delayed_until", "expires", "iid") as (
    select mbus4_rows1.n, ('orders')::pg_catalog.text, mbus4_rows1.h2, null::public.hstore, null::public.hstore,
        null::timestamp without time zone, null::timestamp without time zone, null::pg_catalog.text
    from mbus4_rows1
),
mbus4_call1_posted as materialized (
    select z.n, z.id, z.queue, z.added, z.at, z.delayed_until, z.expires, z.properties, z.data, z.iid,
        case
            when z.choosy
                or z.routed
                then mbus4.subscribers_late(
                    z.consumers, z.queue, z.id, z.added, z.iid, z.delayed_until, z.expires, z.properties, z.data
                )
            else z.consumers
        end as consumers
    from (
        select y.*,
            y.prefix || case
                when y.at < '2038-01-01Z' then (pg_catalog.date_part('epoch', y.at) * 1000000)::bigint::text
                when y.at < '2200-01-01Z' then (extract(epoch from y.at) * 1000000)::bigint::text
                else ''
            end || y.id as iid
        from (
            select x.*, case when x.delayed_until > x.added and x.queue <> 'dmq' then x.delayed_until else x.added end as at
            from (
                select a.n,
                    pg_catalog.nextval('mbus4.message_id') as id,
                    pg_catalog.clock_timestamp() as added,
                    case
                        when r.consumers is not null
                            or exists (select from mbus4.queue q where q.qname = pg_catalog.lower(a.qname collate "C"))
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
                    (
                        select pg_catalog.lower(('orders')::pg_catalog.text collate "C") || '.' || pg_catalog.current_database() || '.'
                    ) as prefix,
                    a.delayed_until::timestamptz as delayed_until,
                    a.expires::timestamptz as expires, a.properties, a.data, r.consumers, r.choosy, r.general, r.routed
                from mbus4_call1_args a
                left join lateral (
                    select pg_catalog.array_agg(c.id) filter (where c.target is null and c.selector_id is null) as consumers,
                        pg_catalog.bool_or(c.target is null and c.selector_id is not null) as choosy,
                        pg_catalog.bool_or(c.target is null and c.general) as general,
                        pg_catalog.bool_or(c.target is not null) as routed
                    from mbus4.consumer c
                    where c.qname = pg_catalog.lower(('orders')::pg_catalog.text collate "C")
                ) r on true
                offset 0
            ) x
        ) y
        offset 0
    ) z
),
mbus4_call1_stored as (
    insert into mbus4.message (id, consumer_id, available_at, added, iid, delayed_until, expires, properties, data)
    select p.id, pg_catalog.unnest(p.consumers), p.at, p.added,
        case when p.at >= '2200-01-01Z' then p.iid end,
        p.delayed_until, p.expires, p.properties, p.data
    from mbus4_call1_posted p
),
mbus4_call1 as (select p.n, p.iid as post from mbus4_call1_posted p)
insert into log (iid)
select mbus4_call1."post" as "post"
from mbus4_call1

# or to many.
select o.id, mbus4.post(o.region, hstore(o)) from orders o order by o.id
----
with mbus4_rows1 as materialized (
    select pg_catalog.row_number() over () as n, s.*
    from (select o.id, null, (o.region)::pg_catalog.text, (hstore(o))::public.hstore from orders o order by o.id) as s(
        h1, h2, h3, h4
    )
),
mbus4_call1_args(n, "qname", "data", "headers", "properties", "delayed_until", "expires", "iid") as (
    select mbus4_rows1.n, mbus4_rows1.h3, mbus4_rows1.h4, null::public.hstore, null::public.hstore,
        null::timestamp without time zone, null::timestamp without time zone, null::pg_catalog.text
    from mbus4_rows1
),
mbus4_call1_subscribers as materialized (
    select c.qname as queue,
        pg_catalog.array_agg(c.id) filter (where c.target is null and c.selector_id is null) as consumers,
        pg_catalog.bool_or(c.target is null and c.selector_id is not null) as choosy,
        pg_catalog.bool_or(c.target is null and c.general) as general,
        pg_catalog.bool_or(c.target is not null) as routed
    from mbus4.consumer c
    where c.qname = any(array(select pg_catalog.lower(a.qname collate "C") from mbus4_call1_args a group by 1))
    group by c.qname
),
mbus4_call1_posted as materialized (
    select z.n, z.id, z.queue, z.added, z.at, z.delayed_until, z.expires, z.properties, z.data, z.iid,
        case
            when z.choosy
                or z.routed
                then mbus4.subscribers_late(
                    z.consumers, z.queue, z.id, z.added, z.iid, z.delayed_until, z.expires, z.properties, z.data
                )
            else z.consumers
        end as consumers
    from (
        select y.*,
            y.prefix || case
                when y.at < '2038-01-01Z' then (pg_catalog.date_part('epoch', y.at) * 1000000)::bigint::text
                when y.at < '2200-01-01Z' then (extract(epoch from y.at) * 1000000)::bigint::text
                else ''
            end || y.id as iid
        from (
            select x.*, case when x.delayed_until > x.added and x.queue <> 'dmq' then x.delayed_until else x.added end as at
            from (
                select a.n,
                    pg_catalog.nextval('mbus4.message_id') as id,
                    pg_catalog.clock_timestamp() as added,
                    case
                        when r.consumers is not null
                            or exists (select from mbus4.queue q where q.qname = pg_catalog.lower(a.qname collate "C"))
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
                    (pg_catalog.lower(a.qname collate "C") || '.' || pg_catalog.current_database() || '.') as prefix,
                    a.delayed_until::timestamptz as delayed_until,
                    a.expires::timestamptz as expires, a.properties, a.data, r.consumers, r.choosy, r.general, r.routed
                from mbus4_call1_args a
                left join lateral (
                    select * from mbus4_call1_subscribers r where r.queue = pg_catalog.lower(a.qname collate "C") offset 0
                ) r on true
                offset 0
            ) x
        ) y
        offset 0
    ) z
),
mbus4_call1_stored as (
    insert into mbus4.message (id, consumer_id, available_at, added, iid, delayed_until, expires, properties, data)
    select p.id, pg_catalog.unnest(p.consumers), p.at, p.added,
        case when p.at >= '2200-01-01Z' then p.iid end,
        p.delayed_until, p.expires, p.properties, p.data
    from mbus4_call1_posted p
),
mbus4_call1 as (select p.n, p.iid as post from mbus4_call1_posted p)
select mbus4_rows1.h1 as "id", mbus4_call1."post" as "post"
from mbus4_rows1
left join mbus4_call1 on mbus4_call1.n = mbus4_rows1.n
order by mbus4_rows1.n

# Two calls in one statement.
select mbus4.post_orders('id=>1'), mbus4.post_audit('id=>1', properties => 'by=>me')
----
with mbus4_call1_args(n, "qname", "data", "headers", "properties", "delayed_until", "expires", "iid") as (
    select 1::bigint, ('orders')::pg_catalog.text, ('id=>1')::public.hstore, null::public.hstore, null::public.hstore,
        null::timestamp without time zone, null::timestamp without time zone, null::pg_catalog.text
),
mbus4_call1_posted as materialized (
    select z.n, z.id, z.queue, z.added, z.at, z.delayed_until, z.expires, z.properties, z.data, z.iid,
        case
            when z.choosy
                or z.routed
                then mbus4.subscribers_late(
                    z.consumers, z.queue, z.id, z.added, z.iid, z.delayed_until, z.expires, z.properties, z.data
                )
            else z.consumers
        end as consumers
    from (
        select y.*,
            y.prefix || case
                when y.at < '2038-01-01Z' then (pg_catalog.date_part('epoch', y.at) * 1000000)::bigint::text
                when y.at < '2200-01-01Z' then (extract(epoch from y.at) * 1000000)::bigint::text
                else ''
            end || y.id as iid
        from (
            select x.*, case when x.delayed_until > x.added and x.queue <> 'dmq' then x.delayed_until else x.added end as at
            from (
                select a.n,
                    pg_catalog.nextval('mbus4.message_id') as id,
                    pg_catalog.clock_timestamp() as added,
                    case
                        when r.consumers is not null
                            or exists (select from mbus4.queue q where q.qname = pg_catalog.lower(a.qname collate "C"))
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
                    (pg_catalog.lower(a.qname collate "C") || '.' || pg_catalog.current_database() || '.') as prefix,
                    a.delayed_until::timestamptz as delayed_until,
                    a.expires::timestamptz as expires, a.properties, a.data, r.consumers, r.choosy, r.general, r.routed
                from mbus4_call1_args a
                left join lateral (
                    select pg_catalog.array_agg(c.id) filter (where c.target is null and c.selector_id is null) as consumers,
                        pg_catalog.bool_or(c.target is null and c.selector_id is not null) as choosy,
                        pg_catalog.bool_or(c.target is null and c.general) as general,
                        pg_catalog.bool_or(c.target is not null) as routed
                    from mbus4.consumer c
                    where c.qname = pg_catalog.lower(a.qname collate "C")
                ) r on true
                offset 0
            ) x
        ) y
        offset 0
    ) z
),
mbus4_call1_stored as (
    insert into mbus4.message (id, consumer_id, available_at, added, iid, delayed_until, expires, properties, data)
    select p.id, pg_catalog.unnest(p.consumers), p.at, p.added,
        case when p.at >= '2200-01-01Z' then p.iid end,
        p.delayed_until, p.expires, p.properties, p.data
    from mbus4_call1_posted p
),
mbus4_call1 as (select p.n, p.iid as post from mbus4_call1_posted p),
mbus4_call2_args(n, "qname", "data", "headers", "properties", "delayed_until", "expires", "iid") as (
    select 1::bigint, ('audit')::pg_catalog.text, ('id=>1')::public.hstore, null::public.hstore, ('by=>me')::public.hstore,
        null::timestamp without time zone, null::timestamp without time zone, null::pg_catalog.text
),
mbus4_call2_posted as materialized (
    select z.n, z.id, z.queue, z.added, z.at, z.delayed_until, z.expires, z.properties, z.data, z.iid,
        case
            when z.choosy
                or z.routed
                then mbus4.subscribers_late(
                    z.consumers, z.queue, z.id, z.added, z.iid, z.delayed_until, z.expires, z.properties, z.data
                )
            else z.consumers
        end as consumers
    from (
        select y.*,
            y.prefix || case
                when y.at < '2038-01-01Z' then (pg_catalog.date_part('epoch', y.at) * 1000000)::bigint::text
                when y.at < '2200-01-01Z' then (extract(epoch from y.at) * 1000000)::bigint::text
                else ''
            end || y.id as iid
        from (
            select x.*, case when x.delayed_until > x.added and x.queue <> 'dmq' then x.delayed_until else x.added end as at
            from (
                select a.n,
                    pg_catalog.nextval('mbus4.message_id') as id,
                    pg_catalog.clock_timestamp() as added,
                    case
                        when r.consumers is not null
                            or exists (select from mbus4.queue q where q.qname = pg_catalog.lower(a.qname collate "C"))
                            or (
                                pg_catalog.lower(a.qname collate "C") operator(pg_catalog.~) '^temp[.][0-9a-f]{32}[.][0-9]+$'
                                    and mbus4.is_gone(pg_catalog.lower(a.qname collate "C"), '2 _session_secret_')
                            )
                            then pg_catalog.lower(a.qname collate "C")
                        else pg_catalog.format(
                            'mbus4-error 2 _session_secret_ 42704 queue %s does not exist',
                            coalesce('"' || pg_catalog.lower(a.qname collate "C") || '"', 'null')
                        )::int::text
                    end as queue,
                    (pg_catalog.lower(a.qname collate "C") || '.' || pg_catalog.current_database() || '.') as prefix,
                    a.delayed_until::timestamptz as delayed_until,
                    a.expires::timestamptz as expires, a.properties, a.data, r.consumers, r.choosy, r.general, r.routed
                from mbus4_call2_args a
                left join lateral (
                    select pg_catalog.array_agg(c.id) filter (where c.target is null and c.selector_id is null) as consumers,
                        pg_catalog.bool_or(c.target is null and c.selector_id is not null) as choosy,
                        pg_catalog.bool_or(c.target is null and c.general) as general,
                        pg_catalog.bool_or(c.target is not null) as routed
                    from mbus4.consumer c
                    where c.qname = pg_catalog.lower(a.qname collate "C")
                ) r on true
                offset 0
            ) x
        ) y
        offset 0
    ) z
),
mbus4_call2_stored as (
    insert into mbus4.message (id, consumer_id, available_at, added, iid, delayed_until, expires, properties, data)
    select p.id, pg_catalog.unnest(p.consumers), p.at, p.added,
        case when p.at >= '2200-01-01Z' then p.iid end,
        p.delayed_until, p.expires, p.properties, p.data
    from mbus4_call2_posted p
),
mbus4_call2 as (select p.n, p.iid as post from mbus4_call2_posted p)
select (select "post" as "post_orders" from mbus4_call1), (select "post" as "post_audit" from mbus4_call2)

# More than eight calls share their WITH queries.
values (mbus4.post('a', '')), (mbus4.post('b', '')), (mbus4.post('c', '')), (mbus4.post('d', '')), (mbus4.post('e', '')), (mbus4.post('f', '')), (mbus4.post('g', '')), (mbus4.post('h', '')), (mbus4.post('i', ''))
----
with mbus4_call1_args(n, "qname", "data", "headers", "properties", "delayed_until", "expires", "iid") as (
    values (
        1::bigint, ('a')::pg_catalog.text, ('')::public.hstore, null::public.hstore, null::public.hstore,
        null::timestamp without time zone, null::timestamp without time zone, null::pg_catalog.text
    ),
        (
            2::bigint, ('b')::pg_catalog.text, ('')::public.hstore, null::public.hstore, null::public.hstore,
            null::timestamp without time zone, null::timestamp without time zone, null::pg_catalog.text
        ),
        (
            3::bigint, ('c')::pg_catalog.text, ('')::public.hstore, null::public.hstore, null::public.hstore,
            null::timestamp without time zone, null::timestamp without time zone, null::pg_catalog.text
        ),
        (
            4::bigint, ('d')::pg_catalog.text, ('')::public.hstore, null::public.hstore, null::public.hstore,
            null::timestamp without time zone, null::timestamp without time zone, null::pg_catalog.text
        ),
        (
            5::bigint, ('e')::pg_catalog.text, ('')::public.hstore, null::public.hstore, null::public.hstore,
            null::timestamp without time zone, null::timestamp without time zone, null::pg_catalog.text
        ),
        (
            6::bigint, ('f')::pg_catalog.text, ('')::public.hstore, null::public.hstore, null::public.hstore,
            null::timestamp without time zone, null::timestamp without time zone, null::pg_catalog.text
        ),
        (
            7::bigint, ('g')::pg_catalog.text, ('')::public.hstore, null::public.hstore, null::public.hstore,
            null::timestamp without time zone, null::timestamp without time zone, null::pg_catalog.text
        ),
        (
            8::bigint, ('h')::pg_catalog.text, ('')::public.hstore, null::public.hstore, null::public.hstore,
            null::timestamp without time zone, null::timestamp without time zone, null::pg_catalog.text
        ),
        (
            9::bigint, ('i')::pg_catalog.text, ('')::public.hstore, null::public.hstore, null::public.hstore,
            null::timestamp without time zone, null::timestamp without time zone, null::pg_catalog.text
        )
),
mbus4_call1_subscribers as materialized (
    select c.qname as queue,
        pg_catalog.array_agg(c.id) filter (where c.target is null and c.selector_id is null) as consumers,
        pg_catalog.bool_or(c.target is null and c.selector_id is not null) as choosy,
        pg_catalog.bool_or(c.target is null and c.general) as general,
        pg_catalog.bool_or(c.target is not null) as routed
    from mbus4.consumer c
    where c.qname = any(array(select pg_catalog.lower(a.qname collate "C") from mbus4_call1_args a group by 1))
    group by c.qname
),
mbus4_call1_posted as materialized (
    select z.n, z.id, z.queue, z.added, z.at, z.delayed_until, z.expires, z.properties, z.data, z.iid,
        case
            when z.choosy
                or z.routed
                then mbus4.subscribers_late(
                    z.consumers, z.queue, z.id, z.added, z.iid, z.delayed_until, z.expires, z.properties, z.data
                )
            else z.consumers
        end as consumers
    from (
        select y.*,
            y.prefix || case
                when y.at < '2038-01-01Z' then (pg_catalog.date_part('epoch', y.at) * 1000000)::bigint::text
                when y.at < '2200-01-01Z' then (extract(epoch from y.at) * 1000000)::bigint::text
                else ''
            end || y.id as iid
        from (
            select x.*, case when x.delayed_until > x.added and x.queue <> 'dmq' then x.delayed_until else x.added end as at
            from (
                select a.n,
                    pg_catalog.nextval('mbus4.message_id') as id,
                    pg_catalog.clock_timestamp() as added,
                    case
                        when r.consumers is not null
                            or exists (select from mbus4.queue q where q.qname = pg_catalog.lower(a.qname collate "C"))
                            or (
                                pg_catalog.lower(a.qname collate "C") operator(pg_catalog.~) '^temp[.][0-9a-f]{32}[.][0-9]+$'
                                    and mbus4.is_gone(pg_catalog.lower(a.qname collate "C"), ''||a.n||' _session_secret_')
                            )
                            then pg_catalog.lower(a.qname collate "C")
                        else pg_catalog.format(
                            'mbus4-error '||a.n||' _session_secret_ 42704 queue %s does not exist',
                            coalesce('"' || pg_catalog.lower(a.qname collate "C") || '"', 'null')
                        )::int::text
                    end as queue,
                    (pg_catalog.lower(a.qname collate "C") || '.' || pg_catalog.current_database() || '.') as prefix,
                    a.delayed_until::timestamptz as delayed_until,
                    a.expires::timestamptz as expires, a.properties, a.data, r.consumers, r.choosy, r.general, r.routed
                from mbus4_call1_args a
                left join lateral (
                    select * from mbus4_call1_subscribers r where r.queue = pg_catalog.lower(a.qname collate "C") offset 0
                ) r on true
                offset 0
            ) x
        ) y
        offset 0
    ) z
),
mbus4_call1_stored as (
    insert into mbus4.message (id, consumer_id, available_at, added, iid, delayed_until, expires, properties, data)
    select p.id, pg_catalog.unnest(p.consumers), p.at, p.added,
        case when p.at >= '2200-01-01Z' then p.iid end,
        p.delayed_until, p.expires, p.properties, p.data
    from mbus4_call1_posted p
),
mbus4_call1 as (select p.n, p.iid as post from mbus4_call1_posted p)
values ((select "post" as "post" from mbus4_call1 where n = 1 and pg_catalog.clock_timestamp() is not null)),
    ((select "post" as "post" from mbus4_call1 where n = 2 and pg_catalog.clock_timestamp() is not null)),
    ((select "post" as "post" from mbus4_call1 where n = 3 and pg_catalog.clock_timestamp() is not null)),
    ((select "post" as "post" from mbus4_call1 where n = 4 and pg_catalog.clock_timestamp() is not null)),
    ((select "post" as "post" from mbus4_call1 where n = 5 and pg_catalog.clock_timestamp() is not null)),
    ((select "post" as "post" from mbus4_call1 where n = 6 and pg_catalog.clock_timestamp() is not null)),
    ((select "post" as "post" from mbus4_call1 where n = 7 and pg_catalog.clock_timestamp() is not null)),
    ((select "post" as "post" from mbus4_call1 where n = 8 and pg_catalog.clock_timestamp() is not null)),
    ((select "post" as "post" from mbus4_call1 where n = 9 and pg_catalog.clock_timestamp() is not null))
