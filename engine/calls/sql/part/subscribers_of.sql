-- The subscribers of the queue that the row a posts to: for many rows from what is looked up once for all of them.
{{if not .Rows}}{{template "subscribers" .With "Queue" `pg_catalog.lower(a.qname collate "C")`}}
{{- else if .FixesQueue}}{{template "subscribers" .With "Queue" (print "pg_catalog.lower(" (.Arg "qname") " collate \"C\")")}}
{{- else}}((select r.consumers from {{.Call}}_subscribers r) operator({{.Hstore}}.->) pg_catalog.lower(a.qname collate "C"))::bigint[]
{{- end}}
