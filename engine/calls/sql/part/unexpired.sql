-- What lies in dmq (consumer 1) does not expire, nor does what is leased. Row: a message.
({{.Row}}.expires is null or {{.Row}}.expires > pg_catalog.clock_timestamp() or {{.Row}}.consumer_id = 1 or not ({{template "unleased" .With "Row" .Row}}))
