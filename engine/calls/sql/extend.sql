-- See whole/extend.sql.
{{.Extend}}('{{.Mark}}', {{.Arg "lease"}}, {{.Arg "duration"}})
