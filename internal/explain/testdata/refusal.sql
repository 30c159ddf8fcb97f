select mbus4.consume('orders', 10, 20)
----
-- for a database without messages that wait for others; --admin names one to look at
-- line 1, column 8: refused, the client gets
-- ERROR:  42883: function mbus4.consume(unknown, integer, integer) does not exist
-- DETAIL:  Parameter cname is of type text.
-- HINT:  The second argument is the consumer. For 10 messages write mbus4.consumen(qname, amt => 10).
-- the server gets:
select 'mbus4-refusal 0 _session_secret_'::pg_catalog.int4;
ends with 1: a statement is refused with 42883: function mbus4.consume(unknown, integer, integer) does not exist
