-- The headers of a message at which the next attempt begins. Headers: those that it has, Time: the time as a text.
{{.Hstore}}.hstore('retry.first'::pg_catalog.text, {{.Time}}) operator({{.Hstore}}.||) coalesce({{.Headers}}, '')
    operator({{.Hstore}}.||) {{.Hstore}}.hstore(array['retry.attempt', (1 + {{template "attempts" .With "Headers" .Headers}})::pg_catalog.text, 'retry.last', {{.Time}}])
