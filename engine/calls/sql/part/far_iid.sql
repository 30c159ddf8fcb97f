-- The iid of a message, where it is so far off that it has to be stored, see schema/baseline/03_iids.sql; else null. Row: its row, with
-- added, delayed_until, queue and id.
case when {{template "available" .}} >= '2200-01-01Z' then {{.Row}}.queue || '.' || pg_catalog.current_database()::pg_catalog.text || '.' || {{.Row}}.id::pg_catalog.text end
