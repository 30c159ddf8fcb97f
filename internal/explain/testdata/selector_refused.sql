select mbus4.create_consumer('orders', 'large', 'select 1')
----
-- for a database without messages that wait for others; --admin names one to look at
-- line 1, column 49: refused, the client gets
-- ERROR:  42601: the selector select 1 is refused: a selector must be one SQL expression: syntax error at or near "select"
-- HINT:  A selector is one boolean expression over the message t, for example (t.properties->'STATE')='DONE'. docs/selectors.md lists what it may hold.
-- the server gets:
select 'mbus4-refusal 0 _session_secret_'::pg_catalog.int4;
ends with 1: a statement is refused with 42601: the selector select 1 is refused: a selector must be one SQL expression: syntax error at or near "select"
