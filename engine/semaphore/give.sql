{{- define "front"}}
-- The first waiting tasks of semaphores, and a grant with its event for those that get a slot: the first ones, as many as are free. Nobody is granted
-- anything while the limits of the semaphore change, or have changed: its row is locked, so a new limit comes after what was granted under the old one.
-- Rows that others hold are passed over; who was chosen and is not granted is so.
-- Of each semaphore $1 the scan begins at the floor ($2, $3), $4 tasks run, $5 rows are read beyond those that may get a slot, of which at most $7 are read,
-- and at most $6 are granted. The tasks $9 of semaphores $8 are fresh, with $10 running and $11 granted at most: most turns have none, and their statement
-- has no part for them, since the server sets up what a statement has each time.
-- Tasks stay in the order in which they are chosen, semaphore by semaphore, until their events are posted.
with mbus4_limits as materialized (
    select s.id, s.key, s.active, s.try_release, q.priority, q.arrival,
           least(greatest(s.active - q.running, 0), q.room) as free,
           least(greatest(s.active - q.running, 0), $7::int) + q.more as most
    from unnest($1::int[], $2::float8[], $3::bigint[], $4::int[], $5::int[], $6::int[]) q (id, priority, arrival, running, more, room)
    join mbus4.semaphore s on s.id = q.id
),
mbus4_waiting as materialized (
    select l.id, l.active, l.free, w.task_id, w.priority, w.arrival, {{if .WithFresh}}false as fresh{{else}}w.place{{end}}
    from mbus4_limits l
    cross join lateral (
        select w.*{{if not .WithFresh}}, row_number() over (order by w.before, w.arrival) as place{{end}}
        from (
            select t.task_id, t.priority, t.arrival, -t.priority as before
            from mbus4.semaphore_task t
            where -t.semaphore_id = -l.id and t.status = 'WAIT' and (-t.priority, t.arrival) >= (-l.priority, l.arrival)
            order by -t.priority, t.arrival
            limit l.most
        ) w
    ) w
{{- if .WithFresh}}
    union all
    select s.id, s.active, least(greatest(s.active - q.running, 0), q.room), t.task_id, t.priority, t.arrival, true
    from unnest($8::int[], $9::bigint[], $10::int[], $11::int[]) q (id, task_id, running, room)
    join mbus4.semaphore s on s.id = q.id
    cross join lateral (
        select t.task_id, t.priority, t.arrival, t.status
        from mbus4.semaphore_task t
        where t.semaphore_id = q.id and t.task_id = q.task_id
        offset 0 -- one probe for each
    ) t
    where t.status = 'WAIT'
{{- end}}
),
{{- if .WithFresh}}
mbus4_order as materialized (
    select d.*, row_number() over (partition by d.id order by -d.priority, d.arrival, d.task_id) as place
    from (select distinct w.id, w.active, w.free, w.task_id, w.priority, w.arrival from mbus4_waiting w where w.free > 0) d
),
{{- end}}
mbus4_locked as materialized (
    select s.id, s.key
    from {{if .WithFresh}}mbus4_order{{else}}mbus4_waiting{{end}} w
    cross join lateral (
        select s.id, s.key from mbus4.semaphore s where s.id = w.id and s.active = w.active for share skip locked
    ) s
    where w.place = 1 and w.free > 0
),
mbus4_chosen as materialized (
    select w.id, w.task_id, s.id is not null as locked, s.key, t.tid
    from {{if .WithFresh}}mbus4_order{{else}}mbus4_waiting{{end}} w
    left join lateral (
        select s.id, s.key from mbus4_locked s where s.id = w.id limit 1
    ) s on true
    left join lateral (
        select t.ctid as tid
        from mbus4.semaphore_task t
        where t.semaphore_id = s.id and t.task_id = w.task_id and t.status = 'WAIT'
        for update skip locked
    ) t on true
    where w.place <= w.free
),
mbus4_changed as (
    update mbus4.semaphore_task t
    set status = 'ACQUIRED'
    from mbus4_chosen w
    where t.ctid = w.tid
    returning w.key, t.semaphore_id, t.task_id, t.priority, t.arrival
),
mbus4_call_args ({{.Columns}}) as (
    select 1::bigint, {{.Events}}::text,
           {{.Hstore}}.hstore(array['event', 'Acquired', 'semaphore_key', t.key, 'task_id', t.task_id::text]),
           null::{{.Hstore}}.hstore, null::{{.Hstore}}.hstore, null::timestamp, null::timestamp, null::text
    from mbus4_changed t
),
{{.Post}}
select {{.Limit}}, l.id, l.active, l.try_release, 0::bigint, 0::float8, 0::bigint from mbus4_limits l
union all
select {{if .WithFresh}}case when w.fresh then {{.Fresh}} else {{.Scanned}} end{{else}}{{.Scanned}}{{end}}, w.id, 0, 0, w.task_id, w.priority, w.arrival from mbus4_waiting w
union all
select case when c.locked then {{.Locked}} else {{.Chosen}} end, c.id, 0, 0, c.task_id, 0, 0 from mbus4_chosen c
union all
select {{.Granted}}, t.semaphore_id, 0, 0, t.task_id, t.priority, t.arrival from mbus4_changed t
{{- end}}

{{- define "give"}}
-- What the orders $1 to $5 change, with an event for each: semaphores and the limits on which the orders rest; semaphore, task, and whether it is a grant.
with mbus4_order as materialized (
    select q.n, q.id, l.active, q.task_id, q.granted
    from unnest($3::int[], $4::bigint[], $5::boolean[]) with ordinality q (id, task_id, granted, n)
    join unnest($1::int[], $2::int[]) l (id, active) on l.id = q.id
),
-- Nobody is granted anything while the limits of the semaphore change, or have changed: the row is locked, so a new limit comes after what was granted
-- under the old one. Rows that others hold are passed over. The columns are the parameters of the function post, see calls.Texts.Posting.
mbus4_locked as materialized (
    select s.id, s.key
    from (select distinct o.id, o.active from mbus4_order o) q
    cross join lateral (
        select s.id, s.key from mbus4.semaphore s where s.id = q.id and s.active = q.active for share skip locked
    ) s
),
mbus4_chosen as materialized (
    select t.tid, q.n, s.key
    from mbus4_order q
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
{{- end}}
