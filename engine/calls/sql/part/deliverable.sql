-- That a message in the range of deliverable ones may indeed be delivered. What lies in dmq (consumer 1) does not expire.
-- Row: the message, Now: now.
(case when {{.Row}}.expires <= {{.Now}} and {{.Row}}.consumer_id <> 1 then null
      when {{.Row}}.after is not null and mbus4.awaits_delivery({{.Row}}.after) then null
      else 0 end) is not null
