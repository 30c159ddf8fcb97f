-- Old code gives the consumer first: where neither argument is named, it is read that way when only the second is a queue's name.
-- The selector's row is there already: see engine/selectors.
{{.Call}}_asked as materialized (
    select a.n, q.id as queue_id, q.paused, a.selector, {{template "selector_id" .With "Selector" "a.selector" "Row" "s"}} as selector_id, s.headers, s.properties, s.data, a.noindex,
           coalesce(q.qname, pg_catalog.left(pg_catalog.format('mbus4-error {{.Mark}} 42704 queue %s does not exist', coalesce('"' || a.qname || '"', 'null')), 2000)::int::pg_catalog.text) as queue,
           case when q.kind = 'dmq'
                    then pg_catalog.left(pg_catalog.format('mbus4-error {{.Mark}} 42809 queue "%s" has only the consumer "default"', q.qname), 2000)::int::pg_catalog.text
                when q.cname collate "C" ~ '^[a-z0-9_]{1,32}$' and q.cname not in ('dmq', 'temp') then q.cname
                else pg_catalog.left(pg_catalog.format('mbus4-error {{.Mark}} 42602 %s is not a valid name for a consumer', coalesce('"' || q.cname || '"', 'null')), 2000)::int::pg_catalog.text
           end as cname
    from {{.Call}}_args a
    {{template "selector_row" .With "Selector" "a.selector"}}
    left join lateral (
        select q.id, q.qname, q.kind, q.paused, x.cname
        from (values (1, a.qname, a.cname){{if .EitherOrder}}, (2, a.cname, a.qname){{end}}) x (place, qname, cname)
        cross join lateral (select * from mbus4.queue q where q.qname = pg_catalog.lower(x.qname collate "C") offset 0) q
        order by x.place
        limit 1
    ) q on true
    {{if .EitherOrder}}where {{template "either_order" .With "Function" "create_consumer" "Args" "a"}}{{end}}
),
{{.Call}}_created as (
    insert into mbus4.consumer (queue_id, qname, name, selector, selector_id, asks_headers, asks_properties, asks_data, paused)
    select v.queue_id, v.queue, v.cname, v.selector, v.selector_id, v.headers, v.properties, v.data, v.paused from {{.Call}}_asked v
    on conflict (qname, name) do nothing
    returning id, qname, name
),
{{.Call}}_checked as materialized (
    select v.n
    from {{.Call}}_asked v
    left join {{.Call}}_created c on c.qname = v.queue and c.name = v.cname
    where case when c.id is null
                   then pg_catalog.left(pg_catalog.format('mbus4-error {{.Mark}} 42710 queue "%s" already has a consumer "%s"', v.queue, v.cname), 2000)::int = 0
               -- Consuming needs no index of its own; whoever wants one all the same gets its text.
               when v.noindex then {{template "notice" .With "Text" "'00000 create index concurrently on mbus4.message (available_at, id) where consumer_id = ' || c.id::pg_catalog.text"}}
               else true
          end
),
{{.Call}}_enforced as (
    insert into mbus4.consumer (qname, name) select null, null from {{template "done" .}}
),
{{.Call}} as (
    select r.n, ''::pg_catalog.void as create_consumer from {{.Call}}_checked r
)
