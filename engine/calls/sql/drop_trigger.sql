-- A trigger that is not there is dropped already.
{{.Call}}_dropped as (
    delete from mbus4.consumer c
    using {{.Call}}_args a
    where c.qname = pg_catalog.lower(a.src collate "C") and c.target = pg_catalog.lower(a.dst collate "C")
),
{{.Call}} as (
    select a.n, ''::pg_catalog.void as drop_trigger from {{.Call}}_args a
)
