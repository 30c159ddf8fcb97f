-- A queue that exists keeps everything but its consumers_cnt, with a NOTICE.
{{.Call}}_asked as materialized (
    select a.n,
           case when a.qname collate "C" ~ '^[a-z0-9_]{1,32}$' and a.qname not in ('dmq', 'temp') then a.qname
                else pg_catalog.left(pg_catalog.format('mbus4-error {{.MarkOf "a"}} 42602 %s is not a valid name for a queue', coalesce('"' || a.qname || '"', 'null')), 2000)::int::pg_catalog.text
           end as name,
           case when a.ncons >= 1 then a.ncons
                else pg_catalog.left(pg_catalog.format('mbus4-error {{.MarkOf "a"}} 22023 the number of consumers of queue "%s" must be at least 1', a.qname), 2000)::int
           end as ncons
    from {{.Call}}_args a
),
{{.Call}}_created as (
    insert into mbus4.queue (qname, consumers_cnt)
    select distinct on (v.name) v.name, v.ncons from {{.Call}}_asked v order by v.name, v.n desc
    on conflict (qname) do update set consumers_cnt = excluded.consumers_cnt
    returning id, qname, consumers_cnt, xmax = 0 as created
),
{{.Call}}_checked as materialized (
    select v.n
    from {{.Call}}_asked v
    join {{.Call}}_created q on q.qname = v.name
    where q.created or {{template "notice" .With "Text" `'42710 queue "' || q.qname || '" already exists, its number of consumers is now ' || q.consumers_cnt`}}
),
{{.Call}}_consumers as (
    insert into mbus4.consumer (queue_id, qname, name)
    select q.id, q.qname, 'default' from {{.Call}}_created q where q.created
    union all
    select null, null, null from {{template "done" .}}
),
{{.Call}} as (
    select r.n, ''::pg_catalog.void as create_queue from {{.Call}}_checked r
)
