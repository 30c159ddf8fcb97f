-- The headers that follow from the row. Queue: the message's queue, Added: when it was added, without time zone.
{{.Hstore}}.hstore(array['source_db', pg_catalog.current_database()::text, 'destination_queue', {{.Queue}},
    'seenby', array[pg_catalog.current_database()::text]::text,
    'enqueue_time', {{template "time" .With "Time" .Added "ISO" "pg_catalog.starts_with(pg_catalog.current_setting('datestyle'), 'ISO')"}}])
