-- When a message may be delivered. In dmq nothing waits. Row: its row, with added, delayed_until and queue.
case when {{.Row}}.delayed_until > {{.Row}}.added and {{.Row}}.queue <> 'dmq' then {{.Row}}.delayed_until else {{.Row}}.added end
