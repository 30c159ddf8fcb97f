-- That nobody has a lease on a message, as far as it is to be removed because it has expired. Row: the message.
not ({{.Row}}.available_at > pg_catalog.clock_timestamp() and {{.Row}}.available_at < 'infinity' and mbus4.is_leased({{.Row}}.available_at, {{.Row}}.delayed_until, {{.Row}}.headers))
