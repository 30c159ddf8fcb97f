-- As attempted.sql, for a message that has headers, with the time of now. The clock is read once. Headers: those that it has.
{{.Headers}} operator({{.Hstore}}.||) {{.Hstore}}.hstore(pg_catalog.array_replace(
    array['retry.attempt', (1 + {{template "attempts" .With "Headers" .Headers}})::pg_catalog.text, 'retry.last', 'now']
        operator(pg_catalog.||) case when {{.Hstore}}.exist({{.Headers}}, 'retry.first') then null else '{retry.first,now}'::pg_catalog.text[] end,
    'now'::pg_catalog.text, {{template "told" .}}))
