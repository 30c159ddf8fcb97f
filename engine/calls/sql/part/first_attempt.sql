-- The headers of a message that had none at which the first attempt begins. The clock is read once.
{{.Hstore}}.hstore(pg_catalog.array_replace('{retry.first,now,retry.attempt,1,retry.last,now}'::pg_catalog.text[], 'now'::pg_catalog.text, {{template "told" .}}))
