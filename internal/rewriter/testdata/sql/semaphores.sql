select * from mbus4.semaphore_get_or_create('k')
----
with mbus4_call1_args(n, "key") as (select 1::bigint, ('k')::pg_catalog.text),
mbus4_call1_asked as materialized (
    select a.n, a.key, s.id, s.active, s.try_release,
        case
            when a.key is null
                then pg_catalog.left(
                    pg_catalog.format('mbus4-error 1 _session_secret_ 22004 the key of a semaphore must not be null%s', a.key),
                    2000
                )::int
            when pg_catalog.octet_length(a.key) not between 1 and 1000
                then pg_catalog.left(
                    pg_catalog.format(
                        'mbus4-error 1 _session_secret_ 22023 the key of a semaphore has 1 to 1000 bytes, not %s',
                        pg_catalog.octet_length(a.key)
                    ),
                    2000
                )::int
        end as ok
    from mbus4_call1_args a
    left join mbus4.semaphore s on s.key = a.key
),
mbus4_call1_created as (
    insert into mbus4.semaphore (key)
    select v.key
    from mbus4_call1_asked v
    where v.ok is null and v.id is null
    group by v.key
    order by v.key
    on conflict (key) do update
    set key = excluded.key
    returning id, key, active, try_release
),
mbus4_call1 as (
    select v.n,
        row(coalesce(v.id, s.id), v.key, coalesce(v.active, s.active), coalesce(v.try_release, s.try_release))::mbus4.semaphore as semaphore_get_or_create
    from mbus4_call1_asked v
    left join mbus4_call1_created s on s.key = v.key
    where v.ok is null
)
select *
from pg_catalog.unnest(array[(select "semaphore_get_or_create" as "semaphore_get_or_create" from mbus4_call1)::mbus4.semaphore]) as "semaphore_get_or_create"

select mbus4.semaphore_update('k', 100, 20)
----
with mbus4_call1_args(n, "key", "active", "try_release") as (
    select 1::bigint, ('k')::pg_catalog.text, (100)::integer, (20)::integer
),
mbus4_call1_checked as materialized (
    select a.n, a.active, a.try_release, s.id,
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
            when a.active is null
                or a.try_release is null
                then pg_catalog.left(
                    pg_catalog.format(
                        'mbus4-error 1 _session_secret_ 22004 active and try_release of semaphore "%s" must not be null', a.key
                    ),
                    2000
                )::int
            when a.try_release not between 0 and a.active
                then pg_catalog.left(
                    pg_catalog.format(
                        'mbus4-error 1 _session_secret_ 22023 semaphore "%s" needs 0 <= try_release <= active, not try_release %s with active %s',
                        a.key, a.try_release, a.active
                    ),
                    2000
                )::int
        end as ok
    from mbus4_call1_args a
    left join mbus4.semaphore s on s.key = a.key
),
mbus4_call1_updated as (
    update mbus4.semaphore s
    set active = v.active, try_release = v.try_release
    from (
        select distinct on (v.id) v.id, v.active, v.try_release
        from mbus4_call1_checked v
        where v.ok is null
        order by v.id, v.n desc
    ) v
    where s.id = v.id
    returning s.id
),
mbus4_call1_told as (
    insert into mbus4.semaphore_change (semaphore_id)
    select u.id
    from mbus4_call1_updated u
    union all select null
    from mbus4_call1_checked
    where pg_catalog.num_nulls(mbus4_call1_checked.n) > 0
),
mbus4_call1 as (select v.n, ''::pg_catalog.void as semaphore_update from mbus4_call1_checked v where v.ok is null)
select (select "semaphore_update" as "semaphore_update" from mbus4_call1)

select mbus4.semaphore_enqueue('k', 7, 0.5)
----
with mbus4_call1_args(n, "key", "task_id", "priority") as (
    select 1::bigint, ('k')::pg_catalog.text, (7)::bigint, (0.5)::double precision
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
select (select "semaphore_enqueue" as "semaphore_enqueue" from mbus4_call1)

select mbus4.semaphore_release('k', 7)
----
with mbus4_call1_args(n, "key", "task_id") as (select 1::bigint, ('k')::pg_catalog.text, (7)::bigint),
mbus4_call1_checked as materialized (
    select a.n, a.task_id, s.id,
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
                then pg_catalog.left(
                    pg_catalog.format(
                        'mbus4-error 1 _session_secret_ 22004 task_id of a task of semaphore "%s" must not be null', a.key
                    ),
                    2000
                )::int
        end as ok
    from mbus4_call1_args a
    left join mbus4.semaphore s on s.key = a.key
),
mbus4_call1_released as (
    delete from mbus4.semaphore_task t
    where (t.semaphore_id, t.task_id) = (select v.id, v.task_id from mbus4_call1_checked v where v.ok is null)
    returning t.semaphore_id, t.task_id, t.status
),
mbus4_call1_told as (
    insert into mbus4.semaphore_change (semaphore_id, tasks)
    select d.semaphore_id, array[d.task_id]
    from mbus4_call1_released d
    where d.status operator(pg_catalog.<>) 'WAIT'
    union all select null, null
    from mbus4_call1_checked
    where pg_catalog.num_nulls(mbus4_call1_checked.n) > 0
),
mbus4_call1 as (select v.n, ''::pg_catalog.void as semaphore_release from mbus4_call1_checked v where v.ok is null)
select (select "semaphore_release" as "semaphore_release" from mbus4_call1)
