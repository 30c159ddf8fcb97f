-- A row of mbus4.message as its reader gets it. Row: the row, Queue: its queue.
row({{.Row}}.id, {{.Row}}.added, coalesce({{.Row}}.iid, {{template "iid" .With "Queue" .Queue "At" (print .Row ".available_at") "ID" (print .Row ".id")}}), {{.Row}}.delayed_until, {{.Row}}.expires, {{.Row}}.received,
    {{template "headers" .With "Queue" .Queue "Added" (print .Row ".added")}} operator({{.Hstore}}.||) coalesce({{.Row}}.headers, '')
        operator({{.Hstore}}.||) {{.Hstore}}.hstore('destination'::text, {{.Queue}}),
    {{.Row}}.properties, {{.Row}}.data)::mbus4.qt_model
