{c}_c as (
    delete from mbus4.consumer c
    using {c}_a a
    where c.queue = pg_catalog.lower(a.src) and c.target = pg_catalog.lower(a.dst)
    returning a.n
),
{c}_r as materialized (
    select a.n
    from {c}_a a
    where exists (select from {c}_c c where c.n = a.n)
       or pg_catalog.format('mbus4-error {k.a} 42704 there is no trigger from %s to %s', coalesce('"' || a.src || '"', 'null'), coalesce('"' || a.dst || '"', 'null'))::int = 0
),
{c}_e as (
    insert into mbus4.consumer (queue, name) select null, null from {done:}
),
{c} as (
    select r.n, ''::void as drop_trigger from {c}_r r
)
