-- A row of mbus4.message that has just been leased as its reader gets it. The lease says where the row stands, and which attempt it is. Row:
-- the row, Queue: its queue.
row({{.Row}}.id, {{.Row}}.added::timestamp, {{.Row}}.iid collate pg_catalog."default",
    coalesce({{.Row}}.delayed_until, {{.Row}}.added)::timestamp, {{.Row}}.expires::timestamp, coalesce({{.Row}}.received, '{}'),
    {{template "shown_headers" .With "Row" .Row "Queue" .Queue}}, {{.Row}}.properties, {{.Row}}.data, {{template "payload" .With "Row" .Row}},
    ({{.Row}}.headers operator({{.Hstore}}.->) 'retry.attempt'::text)::int, {{template "lease_name" .With "Row" .Row}}, {{.Row}}.available_at)::mbus4.leased
