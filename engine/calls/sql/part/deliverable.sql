-- That a message in the range of deliverable ones may indeed be delivered. $1: the message, $2: now.
(case when $1.expires <= $2 then null
      when $1.after is not null and mbus4.any_undelivered($1.after) then null
      else 0 end) is not null
