-- A time as a text for headers: local, as the times in a message's columns are, and in one form, for it may be read in a session that
-- has another DateStyle. Time: it, without time zone, ISO: whether this session's DateStyle is ISO.
case when {{.ISO}} then {{.Time}}::pg_catalog.text else mbus4.time_text({{.Time}}) end
