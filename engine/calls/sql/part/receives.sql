-- That a consumer gets a message, by part/consumers_of.sql. A comparison with what its selector asks for is made here; the
-- rest is asked of a function. A trigger copies it instead, and where there is neither a consumer nor the queue, posting
-- fails. IID, Headers, After, Waits: of p, as they are stored.
coalesce(case when consumer_id is not null then rest is null or case when (rest).target is null and not (rest).general then mbus4.has_asked(rest, p.queue, p.added, {{.Headers}}, p.properties, p.data) is true
              else mbus4.receives(rest, p.queue, p.id, p.added, {{.IID}}, p.delayed_until, p.expires, {{.Headers}}, p.properties, p.data, {{.After}}, {{.Waits}}, null) end end,
         {{.PostGiven}}('{{.MarkOf "p"}}', p.queue, p.id, p.added, null, p.delayed_until, p.expires, {{.Headers}}, p.properties, p.data, null, {{.Waits}}) is null)
