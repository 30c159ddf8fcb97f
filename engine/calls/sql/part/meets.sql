-- That a message meets the condition of dyn_consume. Written so that the planner expects most to: see
-- consume.sql. Row: the message, Queue: its queue.
and (select case when ({{.Condition}}) then 0 end
     from (select {{.Row}}.id, {{.Row}}.added::timestamp as added, coalesce({{.Row}}.iid, {{template "iid" .With "Queue" .Queue "At" (print .Row ".available_at") "ID" (print .Row ".id")}}) as iid,
                  {{.Row}}.delayed_until::timestamp as delayed_until, {{.Row}}.expires::timestamp as expires, {{.Row}}.received,
                  {{template "headers" .With "Queue" .Queue "Added" (print .Row ".added")}} operator({{.Hstore}}.||) coalesce({{.Row}}.headers, '')
                      operator({{.Hstore}}.||) {{.Hstore}}.hstore('destination'::text, {{.Queue}}) as headers,
                  {{.Row}}.properties, {{.Row}}.data) t) is not null
