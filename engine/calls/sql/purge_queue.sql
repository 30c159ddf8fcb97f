-- Removes what is stored for a queue's consumers, or for one of them: see whole/purge.sql.
{{.Call}}_checked as materialized (
    select a.n, {{.Purge}}('{{.MarkOf "a"}}', a.qname, a.cname) as removed from {{.Call}}_args a
),
{{.Call}}_enforced as (
    insert into mbus4.waiting (dep, consumer_id, id) select null, null, null from {{template "done" .}}
),
{{.Call}} as (
    select r.n, r.removed as purge_queue from {{.Call}}_checked r
)
