-- How long a lease lasts, or the error that it cannot. Given: what the call says, Policy: what the consumer says.
case when {{.Given}} < interval '1 millisecond' or {{.Given}} > interval '365 days'
     then pg_catalog.make_interval(secs => pg_catalog.format('mbus4-error {{.Mark}} 22023 a lease lasts between a millisecond and 365 days, and not %s', {{.Given}})::int)
     else coalesce({{.Given}}, {{.Policy}}) end
