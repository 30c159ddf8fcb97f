-- Makes a schedule, or gives one that there is other contents. Housekeeping posts what is due: engine/housekeeping/scheduler.go. The texts cron and timezone have been
-- read before (checkScheduled of package app). Whose a schedule is row security asks as well, without a word of ours.
{{.Call}}_asked as materialized (
    select a.n, a.cron, coalesce(a.timezone, 'UTC') as timezone, {{template "posted_data" .With "Row" "a"}} as data, {{template "posted_headers" .With "Row" "a"}} as headers, a.properties,
           case when a.n + (select count(*) from (select from mbus4.schedule s where s.owner = current_user limit 10000) s) > 10000 and not exists (select from mbus4.schedule s where s.name = a.name)
                then pg_catalog.left(pg_catalog.format('mbus4-error {{.MarkOf "a"}} 54000 role "%s" has 10000 schedules, and no room for more', current_user), 2000)::int::pg_catalog.text
                when (select not exists (select from pg_catalog.pg_roles r where r.rolname = s.owner and pg_catalog.pg_has_role(r.oid, 'member')) from mbus4.schedule s where s.name = a.name)
                then {{template "others_schedule" .With "Row" "a"}}::pg_catalog.text
                when pg_catalog.length(a.name) between 1 and 200 then a.name
                else pg_catalog.left(pg_catalog.format('mbus4-error {{.MarkOf "a"}} 22023 the name of a schedule must have 1 to 200 characters, not %s', coalesce(pg_catalog.length(a.name)::pg_catalog.text, 'null')), 2000)::int::pg_catalog.text end as name,
           case when a.cron is null then pg_catalog.left(pg_catalog.format('mbus4-error {{.MarkOf "a"}} 22004 the cron text of schedule "%s" must not be null', a.name), 2000)::int::pg_catalog.text
                else coalesce((select q.qname from mbus4.queue q where q.qname = pg_catalog.lower(a.qname collate "C")), {{template "no_queue" .With "Args" "a" "Queue" "a.qname"}}::pg_catalog.text) end as qname
    from {{.Call}}_args a
),
{{.Call}}_stored as (
    insert into mbus4.schedule (name, cron, timezone, qname, data, headers, properties)
    select distinct on (v.name) v.name, v.cron, v.timezone, v.qname, v.data, v.headers, v.properties from {{.Call}}_asked v order by v.name, v.n desc
    on conflict (name) do update
    set cron = excluded.cron, timezone = excluded.timezone, qname = excluded.qname, data = excluded.data, headers = excluded.headers, properties = excluded.properties
),
{{.Call}} as (
    select v.n, ''::pg_catalog.void as schedule from {{.Call}}_asked v
)
