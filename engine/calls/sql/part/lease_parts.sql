-- The parts of a lease's name as an array, or the error that it is none. Null, which extend gives for a lease that is gone, is no lease that holds.
-- What is no longer than 39 bytes, of digits and three points, with digits between these and 16 behind them, is one: no part can have more than 18. The
-- rest is looked at by a function, whose regular expression costs ten times as much. Lease: the name, Args: the arguments, whose n says which call it is.
case when {{.Lease}} is null then null
     when pg_catalog.octet_length({{.Lease}}) <= 39 and {{.Lease}} operator(pg_catalog.~~) '_%._%._%.________________'
          and pg_catalog.translate({{.Lease}}, '0123456789', '') operator(pg_catalog.=) '...' then pg_catalog.string_to_array({{.Lease}}, '.')
     else {{.PartsOfLease}}('{{.MarkOf .Args}}', {{.Lease}}) end
