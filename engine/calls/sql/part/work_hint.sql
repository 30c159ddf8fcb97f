-- A time before which no row of the work queue is live that nobody has claimed: see workHint of package housekeeping.
coalesce(pg_catalog.to_timestamp(nullif(pg_catalog.pg_sequence_last_value('mbus4.hint_work'::pg_catalog.regclass), 0)::pg_catalog.float8 / 1000000.0::pg_catalog.float8), '-infinity')
