-- The headers of what is posted, with its payload if it has one. Row: the arguments. The statement's trace context comes with them where
-- the call does not give one; a call that gives no headers has it alone.
{{- if .Trace}}
{{- if .GivesHeaders}}case when {{.Hstore}}.exist({{.Row}}.headers, 'traceparent') then {{.Row}}.headers else coalesce({{.Row}}.headers, '') operator({{.Hstore}}.||) {{.Trace}} end{{else}}{{.Trace}}{{end}}
{{- if .GivesPayload}} operator({{.Hstore}}.||) case when {{.Row}}.payload is null then '' else {{.Hstore}}.hstore('json.payload', {{.Row}}.payload::pg_catalog.text) end{{end}}
{{- else -}}
{{if .GivesPayload}}case when {{.Row}}.payload is null then {{.Row}}.headers else coalesce({{.Row}}.headers, '') operator({{.Hstore}}.||) {{.Hstore}}.hstore('json.payload', {{.Row}}.payload::pg_catalog.text) end{{else}}{{.Row}}.headers{{end}}
{{- end}}
