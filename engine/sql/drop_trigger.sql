{c}_c as (
    delete from mbus4.consumer c
    using {c}_a a
    where c.queue = pg_catalog.lower(a.src) and c.target = pg_catalog.lower(a.dst)
    returning a.n
),
{c} as (
    select a.n, ''::void as drop_trigger
    from {c}_a a
    where exists (select from {c}_c c where c.n = a.n)
       or pg_catalog.format('mbus4-error {k} 42704 there is no trigger from %s to %s', coalesce('"' || a.src || '"', 'null'), coalesce('"' || a.dst || '"', 'null'))::int = 0
)
