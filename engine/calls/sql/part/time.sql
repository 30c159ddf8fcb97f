-- A time as a text for headers: local, as the times in a message's columns are, and whatever the session's DateStyle, for it may
-- be read in another session. Time: it, with time zone.
pg_catalog.to_char({{.Time}}, 'YYYY-MM-DD HH24:MI:SS.US')
