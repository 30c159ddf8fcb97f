-- Where consuming starts to look. Consumer: the consumer's id. See Hinter.
pg_catalog.to_timestamp(coalesce(pg_catalog.pg_sequence_last_value(('mbus4.hint_' || {{.Consumer}} % 128)::regclass), 0) / 1000000.0)
