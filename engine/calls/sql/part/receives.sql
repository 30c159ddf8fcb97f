-- That a consumer gets a message, by part/consumers_of.sql. A trigger copies it instead, and where there is neither a consumer nor the queue, posting fails. IID, Headers,
-- After, Waits: of p, as they are stored.
coalesce(case when consumer_id is not null then rest is null or mbus4.receives(rest, p.queue, p.id, p.added, {{.IID}}, p.delayed_until, p.expires, {{.Headers}}, p.properties, p.data, {{.After}}, {{.Waits}}, null) end,
         {{.PostGiven}}('{{.MarkOf "p"}}', p.queue, p.id, p.added, null, p.delayed_until, p.expires, {{.Headers}}, p.properties, p.data, null, {{.Waits}}) is null)
