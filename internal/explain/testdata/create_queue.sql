select mbus4.create_queue('orders', 1)
----
-- for a database without messages that wait for others; --admin names one to look at
-- line 1, column 8: mbus4.create_queue(qname text, ncons integer) returns void
--   inline, by WITH queries
-- sent again and again, it is run by a statement that is prepared in the session, in which these literals are parameters: 'orders', '1'
-- the server gets:
with mbus4_call1_args(n, "qname", "ncons") as (select 1::bigint, ('orders')::pg_catalog.text, (1)::integer),
mbus4_call1_asked as materialized (
    select a.n,
        case
            when a.qname collate "C" ~ '^[a-z0-9_]{1,32}$' and a.qname not in ('dmq', 'temp') then a.qname
            else pg_catalog.left(
                pg_catalog.format(
                    'mbus4-error 1 _session_secret_ 42602 %s is not a valid name for a queue',
                    coalesce('"' || a.qname || '"', 'null')
                ),
                2000
            )::int::pg_catalog.text
        end as name,
        case
            when a.ncons >= 1 then a.ncons
            else pg_catalog.left(
                pg_catalog.format(
                    'mbus4-error 1 _session_secret_ 22023 the number of consumers of queue "%s" must be at least 1', a.qname
                ),
                2000
            )::int
        end as ncons
    from mbus4_call1_args a
),
mbus4_call1_created as (
    insert into mbus4.queue (qname, consumers_cnt)
    select distinct on (v.name) v.name, v.ncons
    from mbus4_call1_asked v
    order by v.name, v.n desc
    on conflict (qname) do update
    set consumers_cnt = excluded.consumers_cnt
    returning id, qname, consumers_cnt, xmax = 0 as created
),
mbus4_call1_checked as materialized (
    select v.n
    from mbus4_call1_asked v
    join mbus4_call1_created q on q.qname = v.name
    where q.created
        or pg_catalog.to_tsquery(
            'simple',
            pg_catalog.translate(
                (
                    'x' || pg_catalog.encode(
                        pg_catalog.convert_to(
                            'm4 1 _session_secret_ ' || '42710 queue "' || q.qname || '" already exists, its number of consumers is now ' || q.consumers_cnt,
                            'UTF8'
                        ),
                        'hex'
                    )
                )::pg_catalog.varbit::pg_catalog.text,
                '01', E' \t'
            )
        ) is not null
),
mbus4_call1_consumers as (
    insert into mbus4.consumer (queue_id, qname, name)
    select q.id, q.qname, 'default'
    from mbus4_call1_created q
    where q.created
    union all select null, null, null
    from mbus4_call1_checked
    where pg_catalog.num_nulls(mbus4_call1_checked.n) > 0
),
mbus4_call1 as (select r.n, ''::pg_catalog.void as create_queue from mbus4_call1_checked r)
select (select "create_queue" as "create_queue" from mbus4_call1);
