-- Queue: a queue, At: its message's available_at, ID: and id. See schema/baseline/03_iids.sql.
{{.Queue}} || '.' || pg_catalog.current_database()::pg_catalog.text || '.' || {{template "place" .With "At" .At "ID" .ID}}
