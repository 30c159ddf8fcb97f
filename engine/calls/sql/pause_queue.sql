-- A queue's consumers, or one of them, get nothing from the next statement on, until resume_queue: see receiver of package calls. Of a queue as a whole its row says
-- so, too, for consumers that are created later.
{{.Call}}_queues as (
    update mbus4.queue q
    set paused = {{if eq .Result "pause_queue"}}coalesce(q.paused, pg_catalog.clock_timestamp()){{else}}null{{end}}
    from {{.Call}}_args a
    where a.cname is null and q.qname = pg_catalog.lower(a.qname collate "C")
),
{{.Call}}_consumers as (
    update mbus4.consumer c
    set paused = {{if eq .Result "pause_queue"}}coalesce(c.paused, pg_catalog.clock_timestamp()){{else}}null{{end}}
    from {{.Call}}_args a
    where c.qname = pg_catalog.lower(a.qname collate "C") and c.target is null and (a.cname is null or c.name = pg_catalog.lower(a.cname collate "C"))
),
{{.Call}}_checked as materialized (
    select a.n
    from {{.Call}}_args a
    where case when a.cname is not null then {{template "consumer" .With "Args" "a" "ID" `(select c.id from mbus4.consumer c where c.qname = pg_catalog.lower(a.qname collate "C") and c.name = pg_catalog.lower(a.cname collate "C"))`}} is not null
               when (select 1 from mbus4.queue q where q.qname = pg_catalog.lower(a.qname collate "C")) is null then {{template "no_queue" .With "Args" "a" "Queue" "a.qname"}} = 0
               else true end
),
{{.Call}}_enforced as (
    insert into mbus4.consumer (qname, name) select null, null from {{template "done" .}}
),
{{.Call}} as (
    select r.n, ''::pg_catalog.void as {{.Result}} from {{.Call}}_checked r
)
