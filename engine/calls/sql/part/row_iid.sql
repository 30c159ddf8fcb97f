-- The iid of a row of mbus4.message. Row: the row, Queue: its queue.
coalesce({{.Row}}.iid, {{template "iid" .With "Queue" .Queue "At" (print .Row ".available_at") "ID" (print .Row ".id")}})
