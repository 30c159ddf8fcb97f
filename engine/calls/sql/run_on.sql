-- For how many messages the statement succeeded; see prelude/run_on.sql.
(pg_catalog.current_setting('mbus4.result_' || ({{.Number}})::pg_catalog.text)::pg_catalog.int4)
