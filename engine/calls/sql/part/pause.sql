-- How long a message waits for the next attempt, or the error that it cannot. Given: what the call says, Row: the row of the consumer, Attempt: how many
-- there have been.
case when {{.Given}} < interval '0' or {{.Given}} > interval '365 days'
     then pg_catalog.make_interval(secs => pg_catalog.left(pg_catalog.format('mbus4-error {{.MarkOf ""}} 22023 delay must be between 0 and 365 days, and is %s', {{.Given}}), 2000)::int)
     else coalesce({{.Given}}, pg_catalog.make_interval(secs =>
         least(extract(epoch from {{template "policy" .With "Row" .Row "What" "max_backoff"}})::pg_catalog.float8,
               extract(epoch from {{template "policy" .With "Row" .Row "What" "backoff"}})::pg_catalog.float8 * pg_catalog.power(2, least({{.Attempt}} - 1, 60)::pg_catalog.float8))
         * (1::pg_catalog.float8 - {{template "policy" .With "Row" .Row "What" "jitter"}} * pg_catalog.random()))) end
