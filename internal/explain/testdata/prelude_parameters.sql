# prepared
select mbus4.run_on_orders($1), mbus4.create_view('orders')
----
-- for a database without messages that wait for others; --admin names one to look at
-- line 1, column 8: mbus4.run_on_orders(exec text) returns integer
--   by a statement of its own, which runs first
-- line 1, column 33: mbus4.create_view(qname text, cname text default 'default', viewname text default null) returns void
--   by a statement of its own, which runs first
-- whenever it is bound, before it is executed, the server gets a statement made with the values of $1
-- the server gets:
select (
    case
        when pg_catalog.num_nonnulls(($1)::pg_catalog.text) >= 0
            then (pg_catalog.current_setting('mbus4.result_' || (1)::pg_catalog.text)::pg_catalog.int4)
    end
) as "run_on_orders",
    (''::pg_catalog.void) as "create_view";
