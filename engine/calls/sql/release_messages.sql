{c}_w as (
    update mbus4.work_queue w set process_id = null from {c}_a a where w.process_id = a.process_id returning a.n
),
{c} as (
    select a.n, pg_catalog.count(u.n) as release_messages
    from {c}_a a
    left join {c}_w u on u.n = a.n
    group by a.n
)
