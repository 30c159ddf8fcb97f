-- Each row of the arguments claims one message.
{{- $calls := print "(select pg_catalog.count(*) from " .Call "_asked k)"}}
{{.Call}}_asked as materialized (
    select a.n, pg_catalog.row_number() over (order by a.n) as place,
           coalesce(a.current_process_id, pg_catalog.left(pg_catalog.format('mbus4-error {{.MarkOf "a"}} 22004 the process must not be null%s', a.current_process_id), 2000)::int) as process_id
    from {{.Call}}_args a
),
{{.Call}}_chosen as materialized (
    select w.ctid as tid, w.id, pg_catalog.row_number() over (order by w.next_attempt_at, w.id) as place
    from mbus4.work_queue w
    where w.ctid = any({{template "claimable" .With "Limit" $calls "From" ""}})
),
{{.Call}}_claimed as (
    update mbus4.work_queue w
    set process_id = k.process_id, fresh = false
    from {{.Call}}_chosen s
    join {{.Call}}_asked k on k.place = s.place
    where w.ctid = s.tid
    returning k.n, row(w.id, w.payload)::mbus4.work_message as r
),
{{.Call}} as (
    select u.n, u.r as get_next_message, 1 as o from {{.Call}}_claimed u
)
