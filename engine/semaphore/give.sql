-- What the orders $1 to $5 change, with an event for each. Nobody is granted anything while the limits of the
-- semaphore change, or have changed: the row is locked, so a new limit comes after what was granted under
-- the old one. Rows that others hold are passed over. The columns are the parameters of the function post, see
-- calls.Texts.Posting.
with mbus4_locked as materialized (
    select s.id, s.key
    from unnest($1::int[], $2::int[]) q (id, active)
    join mbus4.semaphore s on s.id = q.id and s.active = q.active
    for share of s skip locked
),
mbus4_chosen as materialized (
    select t.tid, q.n, s.key
    from unnest($3::int[], $4::bigint[], $5::boolean[]) with ordinality q (id, task_id, granted, n)
    join mbus4_locked s on s.id = q.id
    cross join lateral (
        select t.ctid as tid
        from mbus4.semaphore_task t
        where t.semaphore_id = q.id and t.task_id = q.task_id
          and t.status = (case when q.granted then 'WAIT' else 'ACQUIRED' end)::mbus4.semaphore_status
        for update skip locked
    ) t
),
mbus4_changed as (
    update mbus4.semaphore_task t
    set status = (case when t.status = 'WAIT' then 'ACQUIRED' else 'TRY_RELEASE' end)::mbus4.semaphore_status
    from mbus4_chosen w
    where t.ctid = w.tid
    returning w.n, w.key, t.semaphore_id, t.task_id, t.priority, t.arrival, t.status = 'TRY_RELEASE' as asked
),
mbus4_call_args ({{.Columns}}) as (
    select t.n, {{.Events}}::text,
           {{.Hstore}}.hstore(array['event', case when t.asked then 'TryRelease' else 'Acquired' end, 'semaphore_key', t.key, 'task_id', t.task_id::text]),
           null::{{.Hstore}}.hstore, null::{{.Hstore}}.hstore, null::timestamp, null::timestamp, null::text
    from (select * from mbus4_changed order by n) t
),
{{.Post}}
select s.id, t.task_id, t.priority, t.arrival, t.asked, (select count(p.post) from mbus4_call p)
from mbus4_locked s
left join mbus4_changed t on t.semaphore_id = s.id
order by t.n
