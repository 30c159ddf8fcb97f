-- The time of an attempt as a text for headers, whatever the session's DateStyle is.
pg_catalog.to_char(pg_catalog.clock_timestamp(), 'YYYY-MM-DD HH24:MI:SS.US')
