-- The array is for the index: see complete_message.sql. A row that was inserted as one that is claimed may be called fresh, and stand
-- below the hint.
{{.Call}}_released as (
    update mbus4.work_queue w
    set process_id = null, fresh = false
    from {{.Call}}_args a
    where w.process_id = any(array(select p.process_id from {{.Call}}_args p)) and w.process_id = a.process_id
    returning a.n
),
{{.Call}} as (
    select a.n, pg_catalog.count(u.n) as release_messages
    from {{.Call}}_args a
    left join {{.Call}}_released u on u.n = a.n
    group by a.n
)
