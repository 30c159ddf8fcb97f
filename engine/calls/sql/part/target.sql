-- The row of mbus4.qt_model that selectors see while a message is posted. Row: the row, Headers: its headers
-- as stored.
row({{.Row}}.id, {{.Row}}.added, {{.Row}}.iid, coalesce({{.Row}}.delayed_until, {{.Row}}.added), {{.Row}}.expires, '{}', {{template "headers" .With "Queue" (print .Row ".queue") "Added" (print .Row ".added::timestamp")}} operator({{.Hstore}}.||) coalesce({{.Headers}}, ''),
    {{.Row}}.properties, {{.Row}}.data)::mbus4.qt_model
