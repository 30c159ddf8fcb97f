-- A queue that does not exist is worth a warning only: the trigger works as soon as it does.
{{.Call}}_asked as materialized (
    select a.n, pg_catalog.lower(a.src collate "C") as src, pg_catalog.lower(a.dst collate "C") as dst, a.selector, {{template "selector_id" .With "Selector" "a.selector" "Row" "s"}} as selector_id,
           s.headers, s.properties, s.data,
           (select q.id from mbus4.queue q where q.qname = pg_catalog.lower(a.src collate "C")) as src_id,
           (select q.id from mbus4.queue q where q.qname = pg_catalog.lower(a.dst collate "C")) as dst_id,
           case when a.src is null or a.dst is null
                    then pg_catalog.left(pg_catalog.format('mbus4-error {{.Mark}} 22004 the queues of a trigger must not be null%s', a.src || a.dst), 2000)::int
                when exists (
                    with recursive onward (queue) as (
                        select pg_catalog.lower(a.dst collate "C") collate "C"
                        union
                        select c.target from onward o join mbus4.consumer c on c.qname = o.queue and c.target is not null)
                    select from onward o where o.queue = pg_catalog.lower(a.src collate "C"))
                    then pg_catalog.left(pg_catalog.format('mbus4-error {{.Mark}} 42P17 Loop detected: what is posted to "%s" would come back to it', pg_catalog.lower(a.src collate "C")), 2000)::int
           end as ok
    from {{.Call}}_args a
    {{template "selector_row" .With "Selector" "a.selector"}}
),
{{.Call}}_created as (
    insert into mbus4.consumer (queue_id, qname, name, selector, selector_id, target, asks_headers, asks_properties, asks_data)
    select v.src_id, v.src, 'TRIGGER ' || v.dst, v.selector, v.selector_id, v.dst, v.headers, v.properties, v.data from {{.Call}}_asked v where v.ok is null
    on conflict (qname, name) do nothing
    returning id, qname, target
),
{{.Call}}_checked as materialized (
    select v.n
    from {{.Call}}_asked v
    left join {{.Call}}_created c on c.qname = v.src and c.target = v.dst
    where case when c.id is null
                   then pg_catalog.left(pg_catalog.format('mbus4-error {{.Mark}} 42710 the trigger from "%s" to "%s" exists already', v.src, v.dst), 2000)::int = 0
               else (v.src_id is not null or {{template "notice" .With "Text" `'01000 queue "' || v.src || '" does not exist'`}})
                and (v.dst_id is not null or {{template "notice" .With "Text" `'01000 queue "' || v.dst || '" does not exist'`}})
          end
),
{{.Call}}_enforced as (
    insert into mbus4.consumer (qname, name) select null, null from {{template "done" .}}
),
{{.Call}} as (
    select r.n, ''::pg_catalog.void as create_trigger from {{.Call}}_checked r
)
