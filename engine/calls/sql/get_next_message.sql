-- Each row of the arguments claims one message.
{c}_k as materialized (
    select a.n, pg_catalog.row_number() over (order by a.n) as place,
           coalesce(a.current_process_id, pg_catalog.format('mbus4-error {k.a} 22004 the process must not be null%s', a.current_process_id)::int) as process_id
    from {c}_a a
),
{c}_s as materialized (
    select w.ctid as tid, w.id, pg_catalog.row_number() over (order by w.next_attempt_at, w.id) as place
    from mbus4.work_queue w
    where w.ctid = any({claimable:(select pg_catalog.count(*) from {c}_k k);})
),
{c}_w as (
    update mbus4.work_queue w
    set process_id = k.process_id
    from {c}_s s
    join {c}_k k on k.place = s.place
    where w.ctid = s.tid
    returning k.n, row(w.id, w.payload)::mbus4.work_message as r
),
{c} as (
    select u.n, u.r as get_next_message, 1 as o from {c}_w u
)
