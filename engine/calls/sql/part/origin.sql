-- The headers that say where a message is consumed from; those of a temporary queue say it twice. Queue: the queue.
{{.Hstore}}.hstore(pg_catalog.array_cat(array['destination', {{.Queue}}], {{template "temporary_queue" .With "Queue" .Queue}}))
