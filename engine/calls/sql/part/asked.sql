-- That a message holds what the simple selector of the consumer c asks for. Row: it.
(c.asks_properties is null or {{.Row}}.properties operator({{.Hstore}}.@>) c.asks_properties)
and (c.asks_data is null or {{.Row}}.data operator({{.Hstore}}.@>) c.asks_data)
and (c.asks_headers is null or ({{template "headers" .With "Queue" (print .Row ".queue") "Added" (print .Row ".added::timestamp")}}) operator({{.Hstore}}.@>) c.asks_headers)
