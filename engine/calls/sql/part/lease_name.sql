-- The name of a lease: its consumer, its message's id, the attempt and when it ends. Row: the row of mbus4.message.
pg_catalog.concat_ws('.', {{.Row}}.consumer_id, {{.Row}}.id, {{.Row}}.headers operator({{.Hstore}}.->) 'retry.attempt'::pg_catalog.text, {{template "near_place" .With "At" (print .Row ".available_at")}})
