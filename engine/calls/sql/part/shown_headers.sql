-- The headers of a row of mbus4.message as its reader gets them. The queue that it comes from is its destination; what lies in dmq
-- (consumer 1) keeps the one with which it came, if any. Row: the row, Queue: its queue.
{{.Hstore}}.hstore(pg_catalog.array_cat(array['source_db', pg_catalog.current_database()::pg_catalog.text, 'destination_queue', {{.Queue}},
    'seenby', array[pg_catalog.current_database()::pg_catalog.text]::pg_catalog.text,
    'enqueue_time', {{template "time" .With "Time" (print .Row ".added::timestamp") "ISO" "pg_catalog.starts_with(pg_catalog.current_setting('datestyle'), 'ISO')"}},
    'destination', {{.Queue}}], {{template "temporary_queue" .With "Queue" .Queue}}))
    operator({{.Hstore}}.||) coalesce({{.Row}}.headers operator({{.Hstore}}.||) case when {{.Row}}.consumer_id = 1 and {{.Hstore}}.exist({{.Row}}.headers, 'destination') then ''
                                  else {{template "origin" .With "Queue" .Queue}} end, '')
