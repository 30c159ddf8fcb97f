-- That a consumer gets a message, by part/consumers_of.sql. What a selector asks for by comparison is compared here; the rest, and the copies of a trigger, which
-- itself gets nothing, are made by functions, see schema/baseline/06_receiving.sql. Where there is neither a consumer nor the queue, posting fails. IID, Headers,
-- After, Waits: of p, as they are stored; Passed: the queues where triggers do not copy it to.
{{- $message := printf "p.queue, p.id, p.added, %s, p.delayed_until, p.expires, %s, p.properties, p.data" .IID .Headers}}
coalesce(case when consumer_id is not null then rest is null or case
                  when (rest).target is not null then case when (rest).queue_id is not null or mbus4.has_queue(p.queue) then mbus4.copied('{{.MarkOf "p"}}', rest, {{$message}}, {{.After}}, {{.Waits}}, {{.Passed}}) is true end
                  when (rest).general then mbus4.meets(rest, {{$message}}) is true
                  else mbus4.has_asked(rest, p.queue, p.added, {{.Headers}}, p.properties, p.data) is true end end,
         {{.PostGiven}}('{{.MarkOf "p"}}', p.queue, p.id, p.added, null, p.delayed_until, p.expires, {{.Headers}}, p.properties, p.data, {{.Waits}}) is null)
