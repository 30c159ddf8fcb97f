select mbus4.semaphore_enqueue('import', 17, 5)
----
-- for a database without messages that wait for others; --admin names one to look at
-- line 1, column 8: mbus4.semaphore_enqueue(key text, task_id bigint, priority double precision) returns void
--   inline, by WITH queries
-- the server gets:
with mbus4_call1_args(n, "key", "task_id", "priority") as (
    select 1::bigint, ('import')::pg_catalog.text, (17)::bigint, (5)::double precision
),
mbus4_call1_asked as materialized (
    select a.n, a.task_id, a.priority, s.id,
        case
            when a.key is null
                then pg_catalog.left(
                    pg_catalog.format('mbus4-error 1 _session_secret_ 22004 the key of a semaphore must not be null%s', a.key),
                    2000
                )::int
            when s.id is null
                then pg_catalog.left(
                    pg_catalog.format('mbus4-error 1 _session_secret_ 42704 semaphore "%s" does not exist', a.key), 2000
                )::int
            when a.task_id is null
                or a.priority is null
                then pg_catalog.left(
                    pg_catalog.format(
                        'mbus4-error 1 _session_secret_ 22004 task_id and priority of a task of semaphore "%s" must not be null',
                        a.key
                    ),
                    2000
                )::int
            when a.priority = 'NaN'
                then pg_catalog.left(
                    pg_catalog.format(
                        'mbus4-error 1 _session_secret_ 22023 the priority of task %s of semaphore "%s" is not a number',
                        a.task_id, a.key
                    ),
                    2000
                )::int
        end as ok,
        pg_catalog.nextval('mbus4.semaphore_arrival') as arrival
    from mbus4_call1_args a
    left join mbus4.semaphore s on s.key = a.key
),
mbus4_call1_tasks as (
    insert into mbus4.semaphore_task as t (semaphore_id, task_id, priority, arrival)
    select v.id, v.task_id, v.priority, v.arrival
    from mbus4_call1_asked v
    where v.ok is null
    on conflict (semaphore_id, task_id) do update
    set priority = excluded.priority
    returning t.semaphore_id, t.task_id
),
mbus4_call1_told as (
    insert into mbus4.semaphore_change (semaphore_id, tasks) select t.semaphore_id, array[t.task_id] from mbus4_call1_tasks t
),
mbus4_call1 as (select v.n, ''::pg_catalog.void as semaphore_enqueue from mbus4_call1_asked v where v.ok is null)
select (select "semaphore_enqueue" as "semaphore_enqueue" from mbus4_call1);
