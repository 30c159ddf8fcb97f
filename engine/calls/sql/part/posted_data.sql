-- The data of what is posted: of a payload that is an object its keys, with their values as texts. Row: the arguments.
{{if .GivesPayload}}case when {{.Row}}.payload is null then {{.Row}}.data
     when {{.Row}}.data is not null then pg_catalog.left(pg_catalog.format('mbus4-error {{.MarkOf .Row}} 22023 a message has data or a payload, not both%s', pg_catalog.left({{.Row}}.payload::pg_catalog.text, 0)), 2000)::int::pg_catalog.text::{{.Hstore}}.hstore
     when pg_catalog.jsonb_typeof({{.Row}}.payload) = 'object' then coalesce((select {{.Hstore}}.hstore(pg_catalog.array_agg(e.key), pg_catalog.array_agg(e.value)) from pg_catalog.jsonb_each_text({{.Row}}.payload) e), '') end{{else}}{{.Row}}.data{{end}}
