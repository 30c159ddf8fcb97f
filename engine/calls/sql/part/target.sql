-- The row of mbus4.qt_model that selectors see while a message is posted. Row: the row, Headers: its headers
-- as stored.
mbus4.posted_row({{.Row}}.id, {{.Row}}.queue, {{.Row}}.added, {{.Row}}.iid, {{.Row}}.delayed_until, {{.Row}}.expires, {{.Headers}}, {{.Row}}.properties, {{.Row}}.data)
