-- That a message in the range of deliverable ones may indeed be delivered. Row: the message, Now: now.
(case when {{.Row}}.expires <= {{.Now}} then null
      when {{.Row}}.after is not null and mbus4.any_undelivered({{.Row}}.after) then null
      else 0 end) is not null
