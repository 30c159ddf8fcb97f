-- Rows for a query that changes data, of which there are none: they are for reading all of {c}_r, and so for
-- its checks. A query that changes data runs to its end, whether anybody reads the calls' results or not. n is
-- never null.
{c}_r where pg_catalog.num_nulls({c}_r.n) > 0
