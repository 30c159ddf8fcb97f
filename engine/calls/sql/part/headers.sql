-- The headers that follow from the row. Queue: the message's queue, Added: when it was added.
{{.Hstore}}.hstore(array['source_db', pg_catalog.current_database()::text, 'destination_queue', {{.Queue}},
    'seenby', array[pg_catalog.current_database()::text]::text, 'enqueue_time', {{template "time" .With "Time" .Added}}])
