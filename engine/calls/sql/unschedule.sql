-- Drops a schedule. Row security would leave another role's without a word.
{{.Call}}_asked as materialized (
    select a.n, case when (select not exists (select from pg_catalog.pg_roles r where r.rolname in (s.owner, 'mbus4_admin') and pg_catalog.pg_has_role(r.oid, 'member'))
                                  and exists (select from pg_catalog.pg_roles r where r.rolname = s.owner)
                           from mbus4.schedule s where s.name = a.name)
                     then {{template "others_schedule" .With "Row" "a"}}::pg_catalog.text else a.name end as name
    from {{.Call}}_args a
),
{{.Call}}_dropped as (
    delete from mbus4.schedule s using {{.Call}}_asked a where s.name = a.name returning a.n
),
{{.Call}} as (
    select a.n, exists (select from {{.Call}}_dropped d where d.n = a.n) as unschedule from {{.Call}}_asked a
)
