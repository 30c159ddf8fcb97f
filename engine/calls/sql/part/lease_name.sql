-- The name of a lease: its consumer, its message's id, the attempt and when it ends. Row: the row of mbus4.message.
{{.Row}}.consumer_id || '.' || {{.Row}}.id || '.' || ({{.Row}}.headers operator({{.Hstore}}.->) 'retry.attempt'::text) || '.' || {{template "place" .With "At" (print .Row ".available_at") "ID" "''"}}
