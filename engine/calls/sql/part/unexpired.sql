-- Row: a message.
({{.Row}}.expires is null or {{.Row}}.expires > pg_catalog.clock_timestamp())
