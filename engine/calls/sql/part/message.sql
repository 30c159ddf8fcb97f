-- A row of mbus4.message as its reader gets it. Each column has the type and the collation of that of mbus4.qt_model, so that of a row
-- whose columns only are read the planner leaves the columns. Row: the row, Queue: its queue.
row({{.Row}}.id, {{.Row}}.added::timestamp, {{template "row_iid" .With "Row" .Row "Queue" .Queue}} collate pg_catalog."default",
    coalesce({{.Row}}.delayed_until, {{.Row}}.added)::timestamp, {{.Row}}.expires::timestamp, coalesce({{.Row}}.received, '{}'),
    {{template "shown_headers" .With "Row" .Row "Queue" .Queue}}, {{.Row}}.properties, {{.Row}}.data)::mbus4.qt_model
