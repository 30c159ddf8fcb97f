-- See whole/fail.sql.
{{.Fail}}('{{.Mark}}', {{.Arg "lease"}}, {{.Arg "error"}})
