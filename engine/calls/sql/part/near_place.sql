-- As place.sql without the id, for times that have come or come within a year: to the microsecond until the year 2106. At: the time.
(pg_catalog.date_part('epoch', {{.At}}) * 1000000::pg_catalog.float8)::bigint
