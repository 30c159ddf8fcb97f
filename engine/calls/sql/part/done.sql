-- Rows for a query that changes data, of which there are none: they are for reading all of the WITH query _checked, and so for
-- its checks. A query that changes data runs to its end, whether anybody reads the calls' results or not. n is
-- never null.
{{.Call}}_checked where pg_catalog.num_nulls({{.Call}}_checked.n) > 0
