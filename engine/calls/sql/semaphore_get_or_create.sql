-- One that exists is only read; DO UPDATE is for one that somebody creates at the same moment.
{{.Call}}_asked as materialized (
    select a.n, a.key, s.id, s.active, s.try_release,
           case when a.key is null then pg_catalog.left(pg_catalog.format('mbus4-error {{.MarkOf "a"}} 22004 the key of a semaphore must not be null%s', a.key), 2000)::int
                when pg_catalog.octet_length(a.key) not between 1 and 1000
                    then pg_catalog.left(pg_catalog.format('mbus4-error {{.MarkOf "a"}} 22023 the key of a semaphore has 1 to 1000 bytes, not %s', pg_catalog.octet_length(a.key)), 2000)::int
           end as ok
    from {{.Call}}_args a
    left join mbus4.semaphore s on s.key = a.key
),
{{.Call}}_created as (
    insert into mbus4.semaphore (key)
    select v.key from {{.Call}}_asked v where v.ok is null and v.id is null group by v.key order by v.key
    on conflict (key) do update set key = excluded.key
    returning id, key, active, try_release
),
{{.Call}} as (
    select v.n,
           row(coalesce(v.id, s.id), v.key, coalesce(v.active, s.active), coalesce(v.try_release, s.try_release))::mbus4.semaphore
               as semaphore_get_or_create
    from {{.Call}}_asked v
    left join {{.Call}}_created s on s.key = v.key
    where v.ok is null
)
