-- What only this consumer was waiting for becomes unreachable at once; the sweeper removes it. Old code gives the consumer first:
-- see create_consumer.sql.
{{.Call}}_asked as materialized (
    select a.n, x.qname, x.cname
    from {{.Call}}_args a
    cross join lateral (
        select x.qname, x.cname
        from (values (1, a.qname, a.cname){{if .EitherOrder}}, (2, a.cname, a.qname){{end}}) x (place, qname, cname)
        left join lateral (select q.id from mbus4.queue q where q.qname = pg_catalog.lower(x.qname collate "C") offset 0) q on true
        order by q.id is null, x.place
        limit 1
    ) x
    {{if .EitherOrder}}where {{template "either_order" .With "Function" "drop_consumer" "Args" "a"}}{{end}}
),
{{.Call}}_dropped as (
    delete from mbus4.consumer c
    using {{.Call}}_asked v
    where c.qname = pg_catalog.lower(v.qname collate "C") and c.name = pg_catalog.lower(v.cname collate "C")
      and case when c.qname = pg_catalog.lower(v.qname collate "C") and c.qname = 'dmq'
               then pg_catalog.left(pg_catalog.format('mbus4-error {{.MarkOf "v"}} 42809 queue "%s" belongs to the schema and keeps its consumer', c.qname), 2000)::int = 0
               else true end
    returning v.n
),
{{.Call}}_checked as materialized (
    select v.n
    from {{.Call}}_asked v
    where exists (select from {{.Call}}_dropped c where c.n = v.n)
       or (case when (select 1 from mbus4.queue q where q.qname = pg_catalog.lower(v.qname collate "C")) is not null
                then pg_catalog.left(pg_catalog.format('mbus4-error {{.MarkOf "v"}} 42704 queue "%s" has no consumer %s', v.qname, coalesce('"' || v.cname || '"', 'null')), 2000)
                else pg_catalog.left(pg_catalog.format('mbus4-error {{.MarkOf "v"}} 42704 queue %s does not exist', coalesce('"' || v.qname || '"', 'null')), 2000)
           end)::int = 0
),
{{.Call}}_enforced as (
    insert into mbus4.consumer (qname, name) select null, null from {{template "done" .}}
),
{{.Call}} as (
    select r.n, ''::pg_catalog.void as drop_consumer from {{.Call}}_checked r
)
