-- See whole/alter_consumer.sql.
case when {{.AlterConsumer}}('{{.Mark}}', {{.Arg "qname"}}, {{.Arg "cname"}}, {{.Arg "max_attempts"}}, {{.Arg "backoff"}}, {{.Arg "max_backoff"}}, {{.Arg "jitter"}}, {{.Arg "lease"}}) > 0 then ''::pg_catalog.void end
