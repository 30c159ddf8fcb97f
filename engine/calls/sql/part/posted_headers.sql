-- The headers of what is posted, with its payload if it has one. Row: the arguments.
{{if .GivesPayload}}case when {{.Row}}.payload is null then {{.Row}}.headers else coalesce({{.Row}}.headers, '') operator({{.Hstore}}.||) {{.Hstore}}.hstore('json.payload', {{.Row}}.payload::text) end{{else}}{{.Row}}.headers{{end}}
