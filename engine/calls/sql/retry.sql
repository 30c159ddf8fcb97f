-- See whole/retry.sql.
{{.Retry}}('{{.Mark}}', mbus4.to_retry({{.Arg "lease"}}), {{.Arg "error"}}, {{.Arg "delay"}}, {{.Arg "cname"}})
