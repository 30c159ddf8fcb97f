-- A task that is not there has left already. One that only waited leaves no slot behind, so there is
-- nothing to tell.
{c}_r as materialized (
    select a.n, a.task_id, s.id,
           case {semaphore:a;s}
                when a.task_id is null
                    then pg_catalog.format('mbus4-error {k.a} 22004 task_id of a task of semaphore "%s" must not be null', a.key)::int
           end as ok
    from {c}_a a
    left join mbus4.semaphore s on s.key = a.key
),
{c}_d as (
    delete from mbus4.semaphore_task t
    using (select v.id, v.task_id from {c}_r v where v.ok is null group by v.id, v.task_id) v
    where t.semaphore_id = v.id and t.task_id = v.task_id
    returning t.semaphore_id, t.task_id, t.status
),
{c}_l as (
    insert into mbus4.semaphore_change (semaphore_id, tasks)
    select d.semaphore_id, pg_catalog.array_agg(d.task_id) from {c}_d d where d.status <> 'WAIT' group by d.semaphore_id
    union all
    select null, null from {done:}
),
{c} as (
    select v.n, ''::void as semaphore_release from {c}_r v where v.ok is null
)
