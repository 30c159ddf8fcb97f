create function f() returns text language sql as 'select mbus4.post(''q'', '''')'
----
-- for a database without messages that wait for others; --admin names one to look at
-- forwarded as it is: it creates a function or a procedure, in which no calls are served
