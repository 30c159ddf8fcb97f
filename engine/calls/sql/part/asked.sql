-- That a message holds what the simple selector of the consumer c asks for. Row: it.
(c.asks_properties is null or {{.Row}}.properties operator({{.Hstore}}.@>) c.asks_properties)
and (c.asks_data is null or {{.Row}}.data operator({{.Hstore}}.@>) c.asks_data)
and (c.asks_headers is null or ({{template "target" .With "Row" .Row "Headers" "null"}}).headers operator({{.Hstore}}.@>) c.asks_headers)
