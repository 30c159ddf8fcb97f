-- How long a lease lasts, or the error that it cannot. Given: what the call says, Args: the arguments, whose n says which call it is, Row: the row
-- of the consumer, or "" where ID is the consumer's.
case when {{.Given}} < interval '1 millisecond' or {{.Given}} > interval '365 days'
     then pg_catalog.make_interval(secs => pg_catalog.left(pg_catalog.format('mbus4-error {{.MarkOf .Args}} 22023 a lease must last between 1 ms and 365 days, and not %s', {{.Given}}), 2000)::int)
     else coalesce({{.Given}}, {{if .Row}}{{template "policy" .With "Row" .Row "What" "lease"}}{{else}}{{template "lease_usual" .With "ID" .ID}}{{end}}) end
