select mbus4.create_consumer('orders', 'large', $$(t.data->'size')='large'$$)
----
-- for a database without messages that wait for others; --admin names one to look at
-- line 1, column 8: mbus4.create_consumer(qname text, cname text, selector text default null, noindex boolean default 'false') returns void
--   inline, by WITH queries
-- line 1, column 49: the selector is checked before the statement runs
-- the server gets:
with mbus4_call1_args(n, "qname", "cname", "selector", "noindex") as (
    select 1::bigint, ('orders')::pg_catalog.text, ('large')::pg_catalog.text,
        ($$(t.data->'size')='large'$$)::pg_catalog.text,
        'false'::boolean
),
mbus4_call1_asked as materialized (
    select a.n, q.id as queue_id, q.paused, a.selector,
        case
            when pg_catalog.btrim(a.selector, E' \t\r\n') <> ''
                then coalesce(s.id, mbus4.no_selector('1 _session_secret_', a.selector))
        end as selector_id,
        s.headers, s.properties, s.data, a.noindex,
        coalesce(
            q.qname, pg_catalog.
            left(
                pg_catalog.format(
                    'mbus4-error 1 _session_secret_ 42704 queue %s does not exist', coalesce('"' || a.qname || '"', 'null')
                ),
                2000
            )::int::pg_catalog.text
        ) as queue,
        case
            when q.kind = 'dmq'
                then pg_catalog.left(
                    pg_catalog.format('mbus4-error 1 _session_secret_ 42809 queue "%s" has only the consumer "default"', q.qname),
                    2000
                )::int::pg_catalog.text
            when q.cname collate "C" ~ '^[a-z0-9_]{1,32}$' and q.cname not in ('dmq', 'temp') then q.cname
            else pg_catalog.left(
                pg_catalog.format(
                    'mbus4-error 1 _session_secret_ 42602 %s is not a valid name for a consumer',
                    coalesce('"' || q.cname || '"', 'null')
                ),
                2000
            )::int::pg_catalog.text
        end as cname
    from mbus4_call1_args a
    left join mbus4.selector s on s.id = ('x' || pg_catalog.left(pg_catalog.md5(pg_catalog.convert_to(a.selector, 'UTF8')), 16))::bit(
        64
    )::bigint
        and s.text = a.selector
        and s.refused is null
    left join lateral (
        select q.id, q.qname, q.kind, q.paused, x.cname
        from (values (1, a.qname, a.cname), (2, a.cname, a.qname)) x (place, qname, cname)
        cross join lateral (select * from mbus4.queue q where q.qname = pg_catalog.lower(x.qname collate "C") offset 0) q
        order by x.place
        limit 1
    ) q on true
    where case
        when pg_catalog.lower(a.qname collate "C") <> pg_catalog.lower(a.cname collate "C")
            and exists (select from mbus4.queue q where q.qname = pg_catalog.lower(a.qname collate "C") and q.kind <> 'dmq')
            and exists (select from mbus4.queue q where q.qname = pg_catalog.lower(a.cname collate "C") and q.kind <> 'dmq')
            then pg_catalog.left(
                pg_catalog.format(
                    'mbus4-error 1 _session_secret_ 42725 mbus4.create_consumer("%s", "%s") may mean either order: both are queues',
                    pg_catalog.lower(a.qname collate "C"), pg_catalog.lower(a.cname collate "C")
                ),
                2000
            )::int = 0
        else true
    end
),
mbus4_call1_created as (
    insert into mbus4.consumer (queue_id, qname, name, selector, selector_id, asks_headers, asks_properties, asks_data, paused)
    select v.queue_id, v.queue, v.cname, v.selector, v.selector_id, v.headers, v.properties, v.data, v.paused
    from mbus4_call1_asked v
    on conflict (qname, name) do nothing
    returning id, qname, name
),
mbus4_call1_checked as materialized (
    select v.n
    from mbus4_call1_asked v
    left join mbus4_call1_created c on c.qname = v.queue and c.name = v.cname
    where case
        when c.id is null
            then pg_catalog.left(
                pg_catalog.format('mbus4-error 1 _session_secret_ 42710 queue "%s" already has a consumer "%s"', v.queue, v.cname),
                2000
            )::int = 0
        when v.noindex
            then pg_catalog.to_tsquery(
                'simple',
                pg_catalog.translate(
                    (
                        'x' || pg_catalog.encode(
                            pg_catalog.convert_to(
                                'm4 1 _session_secret_ ' || '00000 create index concurrently on mbus4.message (available_at, id) where consumer_id = ' || c.id::pg_catalog.text,
                                'UTF8'
                            ),
                            'hex'
                        )
                    )::pg_catalog.varbit::pg_catalog.text,
                    '01', E' \t'
                )
            ) is not null
        else true
    end
),
mbus4_call1_enforced as (
    insert into mbus4.consumer (qname, name)
    select null, null
    from mbus4_call1_checked
    where pg_catalog.num_nulls(mbus4_call1_checked.n) > 0
),
mbus4_call1 as (select r.n, ''::pg_catalog.void as create_consumer from mbus4_call1_checked r)
select (select "create_consumer" as "create_consumer" from mbus4_call1);
