-- Where consuming starts to look: no live message is before. Number: that of the consumer's hint. See engine/housekeeping/hinter.go.
pg_catalog.to_timestamp(coalesce(pg_catalog.pg_sequence_last_value(('mbus4.hint_' || ({{.Number}})::pg_catalog.text)::pg_catalog.regclass), 0)::pg_catalog.float8 / 1000000.0::pg_catalog.float8)
