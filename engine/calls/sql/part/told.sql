-- The time of an attempt as a text for headers, whatever the session's DateStyle is, always with six digits behind the second. Those of rows that older
-- versions have written end with the last that is not zero.
pg_catalog.to_char(pg_catalog.clock_timestamp(), 'YYYY-MM-DD HH24:MI:SS.US')
