-- That a message in the range of deliverable ones may be leased. One whose attempts are used up goes to dmq instead, and out of the way.
-- Row: the message, Now: now, Most: the number of attempts.
(case when {{template "deliverable" .With "Row" .Row "Now" .Now}} then
    case when {{.Row}}.headers is null or {{.Row}}.consumer_id = 1 then 0
         when {{template "attempts" .With "Headers" (print .Row ".headers")}} < {{.Most}} then 0
         when {{.Spent}}('{{.Mark}}', {{.Row}}.consumer_id, {{.Row}}.available_at, {{.Row}}.id, null) then null
    end
 end) is not null
