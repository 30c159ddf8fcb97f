-- Old code gives the consumer first: it is read that way when only the second argument names a queue.
{c}_v as materialized (
    select a.n, q.id as queue_id,
           coalesce(q.name, pg_catalog.format('mbus4-error {k} 42704 queue %s does not exist', coalesce('"' || a.qname || '"', 'null'))::int::text) as queue,
           case when q.kind <> 'plain'
                    then pg_catalog.format('mbus4-error {k} 42809 queue "%s" has only the consumer "default"', q.name)::int::text
                when a.selector is not null
                    then pg_catalog.format('mbus4-error {k} 0A000 a selector for consumer "%s" is not supported yet', q.cname)::int::text
                when q.cname collate "C" ~ '^[a-z0-9_]{1,32}$' and q.cname not in ('dmq', 'temp') then q.cname
                else pg_catalog.format('mbus4-error {k} 42602 %s is not a valid name for a consumer', coalesce('"' || q.cname || '"', 'null'))::int::text
           end as cname
    from {c}_a a
    left join lateral (
        select q.id, q.name, q.kind, x.cname
        from (values (1, a.qname, a.cname), (2, a.cname, a.qname)) x (place, qname, cname)
        join mbus4.queue q on q.name = pg_catalog.lower(x.qname)
        order by x.place
        limit 1
    ) q on true
),
{c}_c as (
    insert into mbus4.consumer (queue_id, queue, name)
    select v.queue_id, v.queue, v.cname from {c}_v v
    on conflict (queue, name) do nothing
    returning queue, name
),
{c} as (
    select v.n, ''::void as create_consumer
    from {c}_v v
    where exists (select from {c}_c c where c.queue = v.queue and c.name = v.cname)
       or pg_catalog.format('mbus4-error {k} 42710 queue "%s" already has a consumer "%s"', v.queue, v.cname)::int = 0
)
