-- A row of mbus4.message that has just been leased as its reader gets it. The lease says where the row stands, and which attempt it is. Row:
-- the row, Queue: its queue.
row({{template "message_columns" .With "Row" .Row "Queue" .Queue}},
    ({{.Row}}.headers operator({{.Hstore}}.->) 'retry.attempt'::text)::int, {{template "lease_name" .With "Row" .Row}}, {{.Row}}.available_at)::mbus4.leased_message
