-- See whole/redrive.sql.
{{.Redrive}}('{{.Mark}}', {{.Arg "qname"}}, {{.Arg "selector"}}, {{.Arg "amt"}})
