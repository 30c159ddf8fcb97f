-- How many attempts at a message have been counted: what the header says, if it is a number as we write them. Headers: its headers.
case when {{.Headers}} operator({{.Hstore}}.->) 'retry.attempt'::pg_catalog.text operator(pg_catalog.~) '^[0-9]{1,8}$' then ({{.Headers}} operator({{.Hstore}}.->) 'retry.attempt'::pg_catalog.text)::int else 0 end
