-- The columns of mbus4.qt_model of a row of mbus4.message. Row: the row, Queue: its queue.
{{.Row}}.id, {{.Row}}.added::timestamp, {{template "row_iid" .With "Row" .Row "Queue" .Queue}} collate pg_catalog."default",
    coalesce({{.Row}}.delayed_until, {{.Row}}.added)::timestamp, {{.Row}}.expires::timestamp, coalesce({{.Row}}.received, '{}'),
    {{template "shown_headers" .With "Row" .Row "Queue" .Queue}}, {{.Row}}.properties, {{.Row}}.data
