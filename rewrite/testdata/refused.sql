create view v as select * from mbus4.consume('q')
----
error 0A000 at "mbus4.consum": mbus4.consume cannot be called in a view
  hint: mbus4.create_view(qname, cname, viewname) makes a view over a queue that works without the proxy, too.

create materialized view v as select * from mbus4.consume('q')
----
error 0A000 at "mbus4.consum": mbus4.consume cannot be called in a view
  hint: mbus4.create_view(qname, cname, viewname) makes a view over a queue that works without the proxy, too.

select * from rows from (mbus4.post('q', ''), generate_series(1, 2))
----
error 0A000 at "mbus4.post('": mbus4.post cannot be called in ROWS FROM without a name for its column
  hint: Name the columns, with this one first, for example: from rows from (mbus4.post(…), …) as x(r, …).

# arguments
select mbus4.consume(42)
----
error 42883 at "mbus4.consum": function mbus4.consume(integer) does not exist
  detail: Parameter qname is of type text.
  hint: The function is mbus4.consume(qname text, cname text default 'default', wait interval default null) returns setof mbus4.qt_model.

select mbus4.post('q')
----
error 42883 at "mbus4.post('": function mbus4.post(unknown) does not exist
  detail: Parameter data or payload is missing.
  hint: The function is mbus4.post(qname text, data hstore default null, headers hstore default null, properties hstore default null, delayed_until timestamp without time zone default null, expires timestamp without time zone default null, iid text default null, unique_key text default null, unique_for interval default null, payload jsonb default null) returns text.

select mbus4.post('q', 'a=>1', nonsense => 1)
----
error 42883 at "mbus4.post('": function mbus4.post(unknown, unknown, nonsense => integer) does not exist
  detail: It has no parameter named nonsense.
  hint: The function is mbus4.post(qname text, data hstore default null, headers hstore default null, properties hstore default null, delayed_until timestamp without time zone default null, expires timestamp without time zone default null, iid text default null, unique_key text default null, unique_for interval default null, payload jsonb default null) returns text.

select mbus4.post('q', data => 'a=>1', qname => 'x')
----
error 42883 at "mbus4.post('": function mbus4.post(unknown, data => unknown, qname => unknown) does not exist
  detail: Parameter qname is given twice.
  hint: The function is mbus4.post(qname text, data hstore default null, headers hstore default null, properties hstore default null, delayed_until timestamp without time zone default null, expires timestamp without time zone default null, iid text default null, unique_key text default null, unique_for interval default null, payload jsonb default null) returns text.

select mbus4.consume('q', 'c', '1s', 'd')
----
error 42883 at "mbus4.consum": function mbus4.consume(unknown, unknown, unknown, unknown) does not exist
  detail: Too many arguments.
  hint: The function is mbus4.consume(qname text, cname text default 'default', wait interval default null) returns setof mbus4.qt_model. For several messages at once there is mbus4.consumen(qname, amt => 10).

select mbus4.consumen('q', amt => 'x', cname => 'd'), mbus4.consumen('q', amt => 1.5)
----
error 42883 at "mbus4.consum": function mbus4.consumen(unknown, amt => numeric) does not exist
  detail: Parameter amt is of type integer.
  hint: The function is mbus4.consumen(qname text, cname text default 'default', amt integer default '1', wait interval default null) returns setof mbus4.qt_model.

select mbus4.consume(*)
----
error 42883 at "mbus4.consum": function mbus4.consume() does not exist
  detail: It is neither an aggregate nor a window function.
  hint: The function is mbus4.consume(qname text, cname text default 'default', wait interval default null) returns setof mbus4.qt_model.

select mbus4.consume(distinct 'q')
----
error 42883 at "mbus4.consum": function mbus4.consume(unknown) does not exist
  detail: It is neither an aggregate nor a window function.
  hint: The function is mbus4.consume(qname text, cname text default 'default', wait interval default null) returns setof mbus4.qt_model.

select mbus4.consume('q') over ()
----
error 42883 at "mbus4.consum": function mbus4.consume(unknown) does not exist
  detail: It is neither an aggregate nor a window function.
  hint: The function is mbus4.consume(qname text, cname text default 'default', wait interval default null) returns setof mbus4.qt_model.

select mbus4.consume(variadic array['q'])
----
error 42883 at "mbus4.consum": function mbus4.consume(unknown) does not exist
  detail: It is not variadic.
  hint: The function is mbus4.consume(qname text, cname text default 'default', wait interval default null) returns setof mbus4.qt_model.

select mbus4.post_q()
----
error 42883 at "mbus4.post_q": function mbus4.post_q() does not exist
  detail: Parameter data or payload is missing.
  hint: The function is mbus4.post_q(data hstore default null, headers hstore default null, properties hstore default null, delayed_until timestamp without time zone default null, expires timestamp without time zone default null, iid text default null, unique_key text default null, unique_for interval default null, payload jsonb default null) returns text.

# what is stored
create table d (x text default mbus4.post('q', ''))
----
error 0A000 at "mbus4.post('": mbus4.post cannot be called in this statement
  hint: The server runs what is stored in the database without mbusproxy. Call it in a statement that the client sends, for example: select mbus4.post(…). Or insert into a view that mbus4.create_view(qname) makes: that posts, and works anywhere.

create index on t ((mbus4.post('q', '')))
----
error 0A000 at "mbus4.post('": mbus4.post cannot be called in this statement
  hint: The server runs what is stored in the database without mbusproxy. Call it in a statement that the client sends, for example: select mbus4.post(…). Or insert into a view that mbus4.create_view(qname) makes: that posts, and works anywhere.

alter table t add check (mbus4.post('q', '') is not null)
----
error 0A000 at "mbus4.post('": mbus4.post cannot be called in this statement
  hint: The server runs what is stored in the database without mbusproxy. Call it in a statement that the client sends, for example: select mbus4.post(…). Or insert into a view that mbus4.create_view(qname) makes: that posts, and works anywhere.

create function f() returns text begin atomic select mbus4.post('q', ''); end
----
error 0A000 at "mbus4.post('": mbus4.post cannot be called in this statement
  hint: The server runs what is stored in the database without mbusproxy. Call it in a statement that the client sends, for example: select mbus4.post(…). Or insert into a view that mbus4.create_view(qname) makes: that posts, and works anywhere.

create rule r as on insert to t do also select mbus4.post('q', '')
----
error 0A000 at "mbus4.post('": mbus4.post cannot be called in this statement
  hint: The server runs what is stored in the database without mbusproxy. Call it in a statement that the client sends, for example: select mbus4.post(…). Or insert into a view that mbus4.create_view(qname) makes: that posts, and works anywhere.

explain create materialized view v as select mbus4.post('q', '')
----
error 0A000 at "mbus4.post('": mbus4.post cannot be called in a view
  hint: mbus4.create_view(qname, cname, viewname) makes a view over a queue that works without the proxy, too.

# a call for each column
select (mbus4.take(x)).* from t where mbus4.post('q', '') is not null
----
error 0A000 at "mbus4.take(x": mbus4.take cannot be called in an expression with .* in such a statement
  hint: Call it in FROM, where its arguments may refer to what stands before it, for example: select m.* from …, mbus4.take(…) as m.

insert into t values (1) returning (mbus4.take(t.name)).*
----
error 0A000 at "mbus4.take(t": mbus4.take cannot be called in an expression with .* in such a statement
  hint: Call it in FROM, where its arguments may refer to what stands before it, for example: select m.* from …, mbus4.take(…) as m.

# steps
select mbus4.run_on_q('select 1') from t where mbus4.post('q', '') is null
----
error 0A000 at "mbus4.run_on": mbus4.run_on_q cannot be called in a SELECT with WHERE
  hint: Call it in a statement of its own, for example: select mbus4.run_on_q(…).

# where a call cannot wait
select 1; select * from mbus4.consume('q', wait => '1s')
----
error 0A000 at "mbus4.consum": mbus4.consume cannot wait here
  detail: It stands in a text of several statements.
  hint: Let it wait in a statement of its own, for example: select * from mbus4.consume(…, wait => '30s').

explain select * from mbus4.consume('q', wait => '1s')
----
error 0A000 at "mbus4.consum": mbus4.consume cannot wait here
  detail: It stands in a statement of this kind.
  hint: Let it wait in a statement of its own, for example: select * from mbus4.consume(…, wait => '30s').

select mbus4.consume(q, wait => '1s') from t
----
error 0A000 at "q, wait => '": argument qname of mbus4.consume must be known before the statement runs
  hint: Give qname as a literal or as a bind parameter.

select case when a then (select count(*) from mbus4.consume('q', wait => '1s')) end from t
----
error 0A000 at "mbus4.consum": mbus4.consume cannot wait here
  detail: It stands in a place where it may be evaluated more than once, or not at all.
  hint: Let it wait in a statement of its own, for example: select * from mbus4.consume(…, wait => '30s').

select * from mbus4.consume('q', wait => '1s') a, mbus4.consume('q', wait => '1s') b
----
error 0A000 at "mbus4.consum": mbus4.consume cannot wait here
  detail: It stands in a statement with two calls that wait.
  hint: Let it wait in a statement of its own, for example: select * from mbus4.consume(…, wait => '30s').

select * from mbus4.consume('q', wait => now() - now())
----
error 0A000 at "now() - now(": argument wait of mbus4.consume must be known before the statement runs
  hint: Give wait as a literal or as a bind parameter.
