select 'mbus4.post(''q'', ''a=>1'')'
----
(forwarded)

select 1 -- mbus4.consume('q')
----
(forwarded)

select $$ select mbus4.consume('q') $$, $f$mbus4.post()$f$
----
(forwarded)

/* select mbus4.consume('q') */ select 1
----
(forwarded)

select "mbus4.consume('q')" from t
----
(forwarded)

select * from mbus4.queue
----
(forwarded)

# a column of a table called mbus4, an alias
select mbus4.consume from t as mbus4
----
(forwarded)

select consume('q'), other.consume('q'), x.mbus4.consume('q')
----
(forwarded)

# not of ours: the server's error is the right one
select mbus4.no_such_function(1)
----
(forwarded)

# does not parse
select mbus4.consume('q'
----
(forwarded)

do $$ begin perform mbus4.post('q', ''); end $$
----
(forwarded)

create function f() returns text language sql as $$ select mbus4.post('q', '') $$
----
(forwarded, with a plan)

select $1::mbus4.qt_model
----
(forwarded)
