{{.Call}}_checked as materialized (
    select a.n, a.active, a.try_release, s.id,
           case {{template "semaphore" .With "Args" "a" "Row" "s"}}
                when a.active is null or a.try_release is null
                    then pg_catalog.left(pg_catalog.format('mbus4-error {{.MarkOf "a"}} 22004 active and try_release of semaphore "%s" must not be null', a.key), 2000)::int
                when a.try_release not between 0 and a.active
                    then pg_catalog.left(pg_catalog.format('mbus4-error {{.MarkOf "a"}} 22023 semaphore "%s" needs 0 <= try_release <= active, not try_release %s with active %s',
                        a.key, a.try_release, a.active), 2000)::int
           end as ok
    from {{.Call}}_args a
    left join mbus4.semaphore s on s.key = a.key
),
{{.Call}}_updated as (
    update mbus4.semaphore s
    set active = v.active, try_release = v.try_release
    from (select distinct on (v.id) v.id, v.active, v.try_release from {{.Call}}_checked v where v.ok is null order by v.id, v.n desc) v
    where s.id = v.id
    returning s.id
),
{{.Call}}_told as (
    insert into mbus4.semaphore_change (semaphore_id) select u.id from {{.Call}}_updated u
    union all
    select null from {{template "done" .}}
),
{{.Call}} as (
    select v.n, ''::pg_catalog.void as semaphore_update from {{.Call}}_checked v where v.ok is null
)
