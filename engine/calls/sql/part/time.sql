-- A time as a text for headers: local, as the times in a message's columns are, and in one form, for it may be read in a session that
-- has another DateStyle. Time: it, without time zone, ISO: whether this session's DateStyle is ISO.
case when {{.ISO}} then {{.Time}}::text
     else pg_catalog.rtrim(pg_catalog.rtrim(pg_catalog.to_char({{.Time}}, 'YYYY-MM-DD HH24:MI:SS.US'), '0'), '.') end
