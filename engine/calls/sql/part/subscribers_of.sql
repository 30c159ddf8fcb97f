-- What subscribers_of_all has for the queue of a row.
((select r.consumers from {{.Call}}_subscribers r) operator({{.Hstore}}.->) pg_catalog.lower(a.qname collate "C"))::bigint[]
