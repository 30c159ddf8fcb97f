-- run_on_<q> needs no making; that the queue exists is all there is to check. It is a function because
-- the result is void.
(select coalesce(mbus4.check_queue({{.Arg "qname"}}, {{.Number}}), ''::pg_catalog.void) as {{.Called}})
