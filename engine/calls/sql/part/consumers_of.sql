-- Each posted message, p, with each consumer of its queue and each trigger: consumer_id, null where there is none, and rest, the row of what does
-- not get everything. What is the same for many rows is looked up once; no nested loop can make a FULL JOIN. OFFSET 0 keeps the rows in their order, so
-- that copies which triggers make are in it, too.
{{- if not .Rows}}{{.Call}}_posted p left join lateral ({{template "consumers" .With "Queue" "p.queue"}} offset 0) c on true
{{- else if .FixesQueue}}{{.Call}}_posted p left join ({{template "consumers" .With "Queue" (print "pg_catalog.lower(" (.Arg "qname") " collate \"C\")")}} offset 0) c on true
{{- else}}(
        select p.*, c.consumer_id, c.rest
        from {{.Call}}_posted p
        full join (
            select q.queue, c.consumer_id, c.rest
            from (select distinct p.queue from {{.Call}}_posted p) q
            cross join lateral ({{template "consumers" .With "Queue" "q.queue"}} offset 0) c
        ) c on c.queue = p.queue
        order by p.id
        offset 0
    ) p
{{- end}}
