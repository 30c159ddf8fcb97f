-- The header that a message of a temporary queue has besides, as an array, or null. Queue: the queue.
case when pg_catalog.starts_with({{.Queue}}, 'temp.') then array['tempq', {{.Queue}}] end
