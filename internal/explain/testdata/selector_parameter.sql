# prepared
select mbus4.create_trigger('orders', 'copies', $1)
----
-- for a database without messages that wait for others; --admin names one to look at
-- line 1, column 8: mbus4.create_trigger(src text, dst text, selector text default null) returns void
--   inline, by WITH queries
-- line 1, column 49: the selector is checked whenever the statement is bound
-- the server gets:
with mbus4_call1_args(n, "src", "dst", "selector") as (
    select 1::bigint, ('orders')::pg_catalog.text, ('copies')::pg_catalog.text, ($1)::pg_catalog.text
),
mbus4_call1_asked as materialized (
    select a.n,
        pg_catalog.lower(a.src collate "C") as src,
        pg_catalog.lower(a.dst collate "C") as dst,
        a.selector,
        case
            when pg_catalog.btrim(a.selector, E' \t\r\n') <> ''
                then coalesce(s.id, mbus4.no_selector('1 _session_secret_', a.selector))
        end as selector_id,
        s.headers, s.properties, s.data,
        (select q.id from mbus4.queue q where q.qname = pg_catalog.lower(a.src collate "C")) as src_id,
        (select q.id from mbus4.queue q where q.qname = pg_catalog.lower(a.dst collate "C")) as dst_id,
        case
            when a.src is null
                or a.dst is null
                then pg_catalog.left(
                    pg_catalog.format(
                        'mbus4-error 1 _session_secret_ 22004 the queues of a trigger must not be null%s', a.src || a.dst
                    ),
                    2000
                )::int
            when exists (
                with recursive onward (queue) as (
                    select pg_catalog.lower(a.dst collate "C") collate "C"
                    union
                    select c.target
                    from onward o
                    join mbus4.consumer c on c.qname = o.queue and c.target is not null
                )
                select
                from onward o
                where o.queue = pg_catalog.lower(a.src collate "C")
            )
                then pg_catalog.left(
                    pg_catalog.format(
                        'mbus4-error 1 _session_secret_ 42P17 Loop detected: what is posted to "%s" would come back to it',
                        pg_catalog.lower(a.src collate "C")
                    ),
                    2000
                )::int
        end as ok
    from mbus4_call1_args a
    left join mbus4.selector s on s.id = ('x' || pg_catalog.left(pg_catalog.md5(pg_catalog.convert_to(a.selector, 'UTF8')), 16))::bit(
        64
    )::bigint
        and s.text = a.selector
        and s.refused is null
),
mbus4_call1_created as (
    insert into mbus4.consumer (queue_id, qname, name, selector, selector_id, target, asks_headers, asks_properties, asks_data)
    select v.src_id, v.src, 'TRIGGER ' || v.dst, v.selector, v.selector_id, v.dst, v.headers, v.properties, v.data
    from mbus4_call1_asked v
    where v.ok is null
    on conflict (qname, name) do nothing
    returning id, qname, target
),
mbus4_call1_checked as materialized (
    select v.n
    from mbus4_call1_asked v
    left join mbus4_call1_created c on c.qname = v.src and c.target = v.dst
    where case
        when c.id is null
            then pg_catalog.left(
                pg_catalog.format(
                    'mbus4-error 1 _session_secret_ 42710 the trigger from "%s" to "%s" exists already', v.src, v.dst
                ),
                2000
            )::int = 0
        else (
            v.src_id is not null
                or pg_catalog.to_tsquery(
                    'simple',
                    pg_catalog.translate(
                        (
                            'x' || pg_catalog.encode(
                                pg_catalog.convert_to(
                                    'm4 1 _session_secret_ ' || '01000 queue "' || v.src || '" does not exist', 'UTF8'
                                ),
                                'hex'
                            )
                        )::pg_catalog.varbit::pg_catalog.text,
                        '01', E' \t'
                    )
                ) is not null
        )
            and (
                v.dst_id is not null
                    or pg_catalog.to_tsquery(
                        'simple',
                        pg_catalog.translate(
                            (
                                'x' || pg_catalog.encode(
                                    pg_catalog.convert_to(
                                        'm4 1 _session_secret_ ' || '01000 queue "' || v.dst || '" does not exist', 'UTF8'
                                    ),
                                    'hex'
                                )
                            )::pg_catalog.varbit::pg_catalog.text,
                            '01', E' \t'
                        )
                    ) is not null
            )
    end
),
mbus4_call1_enforced as (
    insert into mbus4.consumer (qname, name)
    select null, null
    from mbus4_call1_checked
    where pg_catalog.num_nulls(mbus4_call1_checked.n) > 0
),
mbus4_call1 as (select r.n, ''::pg_catalog.void as create_trigger from mbus4_call1_checked r)
select (select "create_trigger" as "create_trigger" from mbus4_call1);
