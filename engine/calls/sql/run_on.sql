-- How many messages the prelude statement took; see prelude/run_on.sql.
(pg_catalog.current_setting('mbus4.result_' || {{.Number}})::pg_catalog.int4)
