-- The id of the message that the row a posts.
{{if and .Rows .FixesQueue}}{{template "message_id" .With "Queue" (print "pg_catalog.lower((" (.Arg "qname") ") collate \"C\")") "Once" "yes"}}
{{- else}}{{template "message_id" .With "Queue" `pg_catalog.lower(a.qname collate "C")` "Once" ""}}
{{- end}}
