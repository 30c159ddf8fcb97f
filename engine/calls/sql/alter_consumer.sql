-- See whole/alter_consumer.sql.
{{.AlterConsumer}}('{{.Mark}}', {{.Arg "qname"}}, {{.Arg "cname"}}, {{.Arg "max_attempts"}}, {{.Arg "backoff"}}, {{.Arg "max_backoff"}}, {{.Arg "jitter"}}, {{.Arg "lease"}})
