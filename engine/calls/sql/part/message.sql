-- A row of mbus4.message as its reader gets it. Row: the row, Queue: its queue.
row({{.Row}}.id, {{.Row}}.added, coalesce({{.Row}}.iid, {{template "iid" .With "Queue" .Queue "At" (print .Row ".available_at") "ID" (print .Row ".id")}}), coalesce({{.Row}}.delayed_until, {{.Row}}.added), {{.Row}}.expires, coalesce({{.Row}}.received, '{}'),
    {{template "shown_headers" .With "Row" .Row "Queue" .Queue}}, {{.Row}}.properties, {{.Row}}.data)::mbus4.qt_model
