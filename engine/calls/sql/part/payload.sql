-- What a message holds as JSON: what was posted, or its data as an object. Row: a row of mbus4.message.
case when {{.Hstore}}.exist({{.Row}}.headers, 'json.payload') then mbus4.payload({{.Row}}.headers, {{.Row}}.data) else {{.Hstore}}.hstore_to_jsonb({{.Row}}.data) end
