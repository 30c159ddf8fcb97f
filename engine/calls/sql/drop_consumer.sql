-- What only this consumer was waiting for becomes unreachable at once; the sweeper removes it.
{{.Call}}_asked as materialized (
    select a.n, x.qname, x.cname
    from {{.Call}}_args a
    cross join lateral (
        select x.qname, x.cname
        from (values (1, a.qname, a.cname), (2, a.cname, a.qname)) x (place, qname, cname)
        left join mbus4.queue q on q.qname = pg_catalog.lower(x.qname)
        order by q.id is null, x.place
        limit 1
    ) x
),
{{.Call}}_dropped as (
    delete from mbus4.consumer c
    using {{.Call}}_asked v
    where c.qname = pg_catalog.lower(v.qname) and c.name = pg_catalog.lower(v.cname)
      and case when c.qname = pg_catalog.lower(v.qname) and c.qname = 'dmq'
               then pg_catalog.format('mbus4-error {{.MarkOf "v"}} 42809 queue "%s" belongs to the schema and keeps its consumer', c.qname)::int = 0
               else true end
    returning v.n
),
{{.Call}}_checked as materialized (
    select v.n
    from {{.Call}}_asked v
    where exists (select from {{.Call}}_dropped c where c.n = v.n)
       or (case when exists (select from mbus4.queue q where q.qname = pg_catalog.lower(v.qname))
                then pg_catalog.format('mbus4-error {{.MarkOf "v"}} 42704 queue "%s" has no consumer %s', v.qname, coalesce('"' || v.cname || '"', 'null'))
                else pg_catalog.format('mbus4-error {{.MarkOf "v"}} 42704 queue %s does not exist', coalesce('"' || v.qname || '"', 'null'))
           end)::int = 0
),
{{.Call}}_enforced as (
    insert into mbus4.consumer (qname, name) select null, null from {{template "done" .}}
),
{{.Call}} as (
    select r.n, ''::void as drop_consumer from {{.Call}}_checked r
)
