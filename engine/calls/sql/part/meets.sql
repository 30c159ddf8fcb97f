-- That a message meets the condition of dyn_consume. Written so that the planner expects most to: see
-- consume.sql. Row: the message, Queue: its queue.
and (select case when ({{.Condition}}) then 0 end
     from (select {{.Row}}.id, {{.Row}}.added::timestamp as added, {{template "row_iid" .With "Row" .Row "Queue" .Queue}} as iid,
                  coalesce({{.Row}}.delayed_until, {{.Row}}.added)::timestamp as delayed_until, {{.Row}}.expires::timestamp as expires,
                  coalesce({{.Row}}.received, '{}') as received, {{template "shown_headers" .With "Row" .Row "Queue" .Queue}} as headers,
                  {{.Row}}.properties, {{.Row}}.data) t) is not null
