-- The headers of a row of mbus4.message as its reader gets them. The queue that it comes from is its destination; what lies in dmq
-- (consumer 1) keeps the one with which it came, if any. Row: the row, Queue: its queue.
{{template "headers" .With "Queue" .Queue "Added" (print .Row ".added")}} operator({{.Hstore}}.||) coalesce({{.Row}}.headers, '')
    operator({{.Hstore}}.||) {{.Hstore}}.hstore('destination'::text, case when {{.Row}}.consumer_id = 1
        then coalesce({{.Row}}.headers operator({{.Hstore}}.->) 'destination'::text, {{.Queue}}) else {{.Queue}} end)
