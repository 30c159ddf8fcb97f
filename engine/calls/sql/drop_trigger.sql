{{.Call}}_dropped as (
    delete from mbus4.consumer c
    using {{.Call}}_args a
    where c.qname = pg_catalog.lower(a.src) and c.target = pg_catalog.lower(a.dst)
    returning a.n
),
{{.Call}}_checked as materialized (
    select a.n
    from {{.Call}}_args a
    where exists (select from {{.Call}}_dropped c where c.n = a.n)
       or pg_catalog.format('mbus4-error {{.MarkOf "a"}} 42704 there is no trigger from %s to %s', coalesce('"' || a.src || '"', 'null'), coalesce('"' || a.dst || '"', 'null'))::int = 0
),
{{.Call}}_enforced as (
    insert into mbus4.consumer (qname, name) select null, null from {{template "done" .}}
),
{{.Call}} as (
    select r.n, ''::void as drop_trigger from {{.Call}}_checked r
)
