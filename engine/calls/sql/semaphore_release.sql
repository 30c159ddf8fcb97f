-- A task that is not there has left already. One that only waited leaves no slot behind, so there is
-- nothing to tell.
{{.Call}}_checked as materialized (
    select a.n, a.task_id, s.id,
           case {{template "semaphore" .With "Args" "a" "Row" "s"}}
                when a.task_id is null
                    then pg_catalog.left(pg_catalog.format('mbus4-error {{.MarkOf "a"}} 22004 task_id of a task of semaphore "%s" must not be null', a.key), 2000)::int
           end as ok
    from {{.Call}}_args a
    left join mbus4.semaphore s on s.key = a.key
),
{{.Call}}_released as (
    delete from mbus4.semaphore_task t
{{- if not .Rows}}
    -- No join: one that was planned when the table was empty reads all of it. Compared as a row, so that the subquery is set up once.
    where (t.semaphore_id, t.task_id) = (select v.id, v.task_id from {{.Call}}_checked v where v.ok is null)
{{- else}}
    using (select v.id, v.task_id from {{.Call}}_checked v where v.ok is null group by v.id, v.task_id) v
    where t.semaphore_id = v.id and t.task_id = v.task_id
{{- end}}
    returning t.semaphore_id, t.task_id, t.status
),
{{.Call}}_told as (
    insert into mbus4.semaphore_change (semaphore_id, tasks)
    select d.semaphore_id, {{if .Rows}}pg_catalog.array_agg(d.task_id){{else}}array[d.task_id]{{end}} from {{.Call}}_released d where d.status operator(pg_catalog.<>) 'WAIT'{{if .Rows}} group by d.semaphore_id{{end}}
    union all
    select null, null from {{template "done" .}}
),
{{.Call}} as (
    select v.n, ''::pg_catalog.void as semaphore_release from {{.Call}}_checked v where v.ok is null
)
