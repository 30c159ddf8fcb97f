-- The headers that say where a message is consumed from; those of a temporary queue say it twice. Queue: the queue.
{{.Hstore}}.hstore(array['destination', {{.Queue}}] || case when pg_catalog.starts_with({{.Queue}}, 'temp.') then array['tempq', {{.Queue}}] end)
