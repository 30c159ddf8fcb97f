-- Why the copies of a message that are there are not delivered.
{{.Call}} as (
    select a.n, r::mbus4.reason as why, pg_catalog.row_number() over (partition by a.n order by r.queue, r.consumer) as o
    from {{.Call}}_args a
    cross join lateral mbus4.reasons(a.iid) r
)
