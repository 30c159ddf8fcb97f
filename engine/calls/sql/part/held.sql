-- That the lease of an attempt still holds the row: neither its message's due time, as retry leaves it, nor another attempt. Row: a row of
-- mbus4.message, found by where the lease says that it stands, Attempt: the attempt, a text.
({{.Row}}.delayed_until is distinct from {{.Row}}.available_at and {{.Row}}.headers operator({{.Hstore}}.->) 'retry.attempt'::pg_catalog.text = {{.Attempt}})
