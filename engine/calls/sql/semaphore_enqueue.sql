-- A task that is there already keeps its status and its arrival. Rows are written in the order of the
-- key, so that statements with many do not lock each other out; they arrive in the order of the calls. What a statement only writes the server runs last,
-- and the last of it first: so the arrival comes from what is read for the call's result, in the order in which the statement's own list is evaluated.
{{.Call}}_asked as materialized (
    select a.n, a.task_id, a.priority, s.id,
           case {{template "semaphore" .With "Args" "a" "Row" "s"}}
                when a.task_id is null or a.priority is null
                    then pg_catalog.left(pg_catalog.format('mbus4-error {{.MarkOf "a"}} 22004 task_id and priority of a task of semaphore "%s" must not be null', a.key), 2000)::int
                when a.priority = 'NaN'
                    then pg_catalog.left(pg_catalog.format('mbus4-error {{.MarkOf "a"}} 22023 the priority of task %s of semaphore "%s" is not a number', a.task_id, a.key), 2000)::int
           end as ok{{if not .Rows}},
           pg_catalog.nextval('mbus4.semaphore_arrival') as arrival{{end}}
    from {{.Call}}_args a
    left join mbus4.semaphore s on s.key = a.key
),
{{- if not .Rows}}
{{.Call}}_tasks as (
    insert into mbus4.semaphore_task as t (semaphore_id, task_id, priority, arrival)
    select v.id, v.task_id, v.priority, v.arrival from {{.Call}}_asked v where v.ok is null
    on conflict (semaphore_id, task_id) do update set priority = excluded.priority
    returning t.semaphore_id, t.task_id
),
{{.Call}}_told as (
    insert into mbus4.semaphore_change (semaphore_id, tasks) select t.semaphore_id, array[t.task_id] from {{.Call}}_tasks t
),
{{- else}}
{{.Call}}_arrived as materialized (
    select x.*, pg_catalog.nextval('mbus4.semaphore_arrival') as arrival
    from (
        select distinct on (v.id, v.task_id) v.id, v.task_id, v.priority, pg_catalog.min(v.n) over (partition by v.id, v.task_id) as n
        from {{.Call}}_asked v
        where v.ok is null
        order by v.id, v.task_id, v.n desc
    ) x
    order by x.n
),
{{.Call}}_tasks as (
    insert into mbus4.semaphore_task as t (semaphore_id, task_id, priority, arrival)
    select m.id, m.task_id, m.priority, m.arrival from {{.Call}}_arrived m order by m.id, m.task_id
    on conflict (semaphore_id, task_id) do update set priority = excluded.priority
    returning t.semaphore_id, t.task_id, t.priority, t.arrival, t.status
),
{{.Call}}_told as (
    insert into mbus4.semaphore_change (semaphore_id, tasks, priority, arrival)
    select t.semaphore_id,
           pg_catalog.array_agg(t.task_id) filter (where t.few or t.status operator(pg_catalog.<>) 'WAIT'),
           (pg_catalog.array_agg(t.priority order by -t.priority, t.arrival) filter (where not t.few and t.status operator(pg_catalog.=) 'WAIT'))[1],
           (pg_catalog.array_agg(t.arrival order by -t.priority, t.arrival) filter (where not t.few and t.status operator(pg_catalog.=) 'WAIT'))[1]
    from (select t.*, pg_catalog.count(*) over (partition by t.semaphore_id) <= 100 as few from {{.Call}}_tasks t) t
    group by t.semaphore_id
),
{{- end}}
{{.Call}} as (
    select v.n, ''::pg_catalog.void as semaphore_enqueue from {{.Call}}_asked v where v.ok is null
)
