select 1 from t where mbus4.post('q', '') is not null
----
error 0A000 at "mbus4.post('": mbus4.post cannot be called in WHERE
  hint: Call it in the target list of the statement itself or of a CTE, for example: with m as (select mbus4.post(…) as r from …) select … from m.

select case when true then mbus4.post('q', '') end
----
error 0A000 at "mbus4.post('": mbus4.post cannot be called in CASE
  hint: Call it in the target list of the statement itself or of a CTE, for example: with m as (select mbus4.post(…) as r from …) select … from m.

select mbus4.post('q', '') is null or true
----
error 0A000 at "mbus4.post('": mbus4.post cannot be called in AND, OR or NOT
  hint: Call it in the target list of the statement itself or of a CTE, for example: with m as (select mbus4.post(…) as r from …) select … from m.

select coalesce(x, mbus4.post('q', '')) from t
----
error 0A000 at "mbus4.post('": mbus4.post cannot be called in such an expression over the rows of FROM
  hint: Call it in the target list of the statement itself or of a CTE, for example: with m as (select mbus4.post(…) as r from …) select … from m.

update t set name = mbus4.post('q', 'a=>1')
----
error 0A000 at "mbus4.post('": mbus4.post cannot be called in SET of UPDATE
  hint: Call it in the target list of the statement itself or of a CTE, for example: with m as (select mbus4.post(…) as r from …) select … from m.

insert into t values (1) returning mbus4.post('q', '')
----
error 0A000 at "mbus4.post('": mbus4.post cannot be called in RETURNING
  hint: Call it in the target list of the statement itself or of a CTE, for example: with m as (select mbus4.post(…) as r from …) select … from m.

insert into t values (1) on conflict (id) do update set name = mbus4.post('q', '')
----
error 0A000 at "mbus4.post('": mbus4.post cannot be called in ON CONFLICT
  hint: Call it in the target list of the statement itself or of a CTE, for example: with m as (select mbus4.post(…) as r from …) select … from m.

declare c cursor for select * from mbus4.consume('q')
----
error 0A000 at "mbus4.consum": mbus4.consume cannot be called in DECLARE CURSOR
  hint: Call it in FROM of the statement itself or of a CTE, for example: with m as (select * from mbus4.consume(…)) select … from m.

create view v as select * from mbus4.consume('q')
----
error 0A000 at "mbus4.consum": mbus4.consume cannot be called in a view
  hint: Call it in FROM of the statement itself or of a CTE, for example: with m as (select * from mbus4.consume(…)) select … from m.

create materialized view v as select * from mbus4.consume('q')
----
error 0A000 at "mbus4.consum": mbus4.consume cannot be called in a materialized view
  hint: Call it in FROM of the statement itself or of a CTE, for example: with m as (select * from mbus4.consume(…)) select … from m.

select * from t, mbus4.take(t.iid)
----
error 0A000 at "mbus4.take(t": mbus4.take cannot be called in FROM with arguments from other items of FROM (LATERAL)
  hint: Call it in the target list of the statement itself or of a CTE, for example: with m as (select mbus4.take(…) as r from …) select … from m.

select * from t, lateral (select mbus4.take(t.iid)) x
----
error 0A000 at "mbus4.take(t": mbus4.take cannot be called in LATERAL
  hint: Call it in the target list of the statement itself or of a CTE, for example: with m as (select mbus4.take(…) as r from …) select … from m.

select * from t join lateral mbus4.take(t.iid) m on true
----
error 0A000 at "mbus4.take(t": mbus4.take cannot be called in FROM with arguments from other items of FROM (LATERAL)
  hint: Call it in the target list of the statement itself or of a CTE, for example: with m as (select mbus4.take(…) as r from …) select … from m.

select * from t order by mbus4.post('q', '')
----
error 0A000 at "mbus4.post('": mbus4.post cannot be called in ORDER BY
  hint: Call it in the target list of the statement itself or of a CTE, for example: with m as (select mbus4.post(…) as r from …) select … from m.

select * from t limit length(mbus4.post('q', ''))
----
error 0A000 at "mbus4.post('": mbus4.post cannot be called in LIMIT
  hint: Call it in the target list of the statement itself or of a CTE, for example: with m as (select mbus4.post(…) as r from …) select … from m.

select distinct mbus4.post('q', '') from t
----
error 0A000 at "mbus4.post('": mbus4.post cannot be called in SELECT DISTINCT
  hint: Call it in the target list of the statement itself or of a CTE, for example: with m as (select mbus4.post(…) as r from …) select … from m.

select array_agg(mbus4.post('q', hstore(t))) from t
----
error 0A000 at "mbus4.post('": mbus4.post cannot be called in an aggregate or window function over the rows of FROM
  hint: Call it in the target list of the statement itself or of a CTE, for example: with m as (select mbus4.post(…) as r from …) select … from m.

select count(*) over (partition by mbus4.post('q', '')) from t
----
error 0A000 at "mbus4.post('": mbus4.post cannot be called in an aggregate or window function over the rows of FROM
  hint: Call it in the target list of the statement itself or of a CTE, for example: with m as (select mbus4.post(…) as r from …) select … from m.

select t.name, mbus4.post('q', '') p from t order by p
----
error 0A000 at "mbus4.post('": mbus4.post cannot be called in a column that ORDER BY refers to
  hint: Call it in the target list of the statement itself or of a CTE, for example: with m as (select mbus4.post(…) as r from …) select … from m.

select t.name, mbus4.post('q', '') from t order by 2
----
error 0A000 at "mbus4.post('": mbus4.post cannot be called in a target list that ORDER BY refers to by number
  hint: Call it in the target list of the statement itself or of a CTE, for example: with m as (select mbus4.post(…) as r from …) select … from m.

select * from mbus4.consume('q') union all select * from mbus4.consume('q') limit 1
----
error 0A000 at "mbus4.consum": mbus4.consume cannot be called in a UNION, INTERSECT or EXCEPT with LIMIT
  hint: Call it in FROM of the statement itself or of a CTE, for example: with m as (select * from mbus4.consume(…)) select … from m.

select * from t where id in (select id from mbus4.consume('q'))
----
error 0A000 at "mbus4.consum": mbus4.consume cannot be called in WHERE
  hint: Call it in FROM of the statement itself or of a CTE, for example: with m as (select * from mbus4.consume(…)) select … from m.

select (select mbus4.post('q', hstore(t)) from u) from t
----
error 0A000 at "mbus4.post('": mbus4.post cannot be called in a subquery over the rows of FROM
  hint: Call it in the target list of the statement itself or of a CTE, for example: with m as (select mbus4.post(…) as r from …) select … from m.

with m as (select * from mbus4.consume('q')) select 1
----
error 0A000 at "mbus4.consum": mbus4.consume cannot be called in a WITH query that nothing refers to (m)
  hint: Call it in FROM of the statement itself or of a CTE, for example: with m as (select * from mbus4.consume(…)) select … from m.

with recursive m as (select 1 as n union all select n + 1 from m, mbus4.consume('q')) select * from m
----
error 0A000 at "mbus4.consum": mbus4.consume cannot be called in a recursive query
  hint: Call it in FROM of the statement itself or of a CTE, for example: with m as (select * from mbus4.consume(…)) select … from m.

with a as (with b as (select * from mbus4.consume('q')) select * from b) select * from a
----
error 0A000 at "mbus4.consum": mbus4.consume cannot be called in a WITH query inside another
  hint: Call it in FROM of the statement itself or of a CTE, for example: with m as (select * from mbus4.consume(…)) select … from m.

select *, mbus4.post('q', '') from t join u using (id)
----
error 0A000 at "mbus4.post('": mbus4.post cannot be called in a target list with * over such a FROM; name the columns
  hint: Call it in the target list of the statement itself or of a CTE, for example: with m as (select mbus4.post(…) as r from …) select … from m.

select *, mbus4.take(x) from unnest($1::text[]) x
----
error 0A000 at "mbus4.take(x": mbus4.take cannot be called in a target list with * over such a FROM; name the columns
  hint: Call it in the target list of the statement itself or of a CTE, for example: with m as (select mbus4.take(…) as r from …) select … from m.

select mbus4.consume('a'), mbus4.consume('b') from t
----
error 0A000 at "mbus4.consum": mbus4.consume cannot be called in a target list with several sets over the rows of FROM
  hint: Call it in FROM of the statement itself or of a CTE, for example: with m as (select * from mbus4.consume(…)) select … from m.

execute p(mbus4.post('q', ''))
----
error 0A000 at "mbus4.post('": mbus4.post cannot be called in this statement
  hint: Call it in the target list of the statement itself or of a CTE, for example: with m as (select mbus4.post(…) as r from …) select … from m.

call p(mbus4.post('q', ''))
----
error 0A000 at "mbus4.post('": mbus4.post cannot be called in the arguments of a procedure
  hint: Call it in the target list of the statement itself or of a CTE, for example: with m as (select mbus4.post(…) as r from …) select … from m.

select mbus4.is_msg_exists((mbus4.consume('q')).iid)
----
error 0A000 at "mbus4.is_msg": mbus4.is_msg_exists cannot be called in a call with a set as argument
  hint: Call it in the target list of the statement itself or of a CTE, for example: with m as (select mbus4.is_msg_exists(…) as r from …) select … from m.

select * from rows from (mbus4.post('q', ''), generate_series(1, 2))
----
error 0A000 at "mbus4.post('": mbus4.post cannot be called in ROWS FROM
  hint: Call it in the target list of the statement itself or of a CTE, for example: with m as (select mbus4.post(…) as r from …) select … from m.

# arguments
select mbus4.consume(42)
----
error 42883 at "mbus4.consum": function mbus4.consume(integer) does not exist
  detail: Parameter qname is of type text.
  hint: The function is mbus4.consume(qname text, cname text default 'default') returns setof mbus4.qt_model.

select mbus4.post('q')
----
error 42883 at "mbus4.post('": function mbus4.post(unknown) does not exist
  detail: Parameter data is missing.
  hint: The function is mbus4.post(qname text, data hstore, headers hstore default null, properties hstore default null, delayed_until timestamp without time zone default null, expires timestamp without time zone default null, iid text default null) returns text.

select mbus4.post('q', 'a=>1', nonsense => 1)
----
error 42883 at "mbus4.post('": function mbus4.post(unknown, unknown, nonsense => integer) does not exist
  detail: It has no parameter named nonsense.
  hint: The function is mbus4.post(qname text, data hstore, headers hstore default null, properties hstore default null, delayed_until timestamp without time zone default null, expires timestamp without time zone default null, iid text default null) returns text.

select mbus4.post('q', data => 'a=>1', qname => 'x')
----
error 42883 at "mbus4.post('": function mbus4.post(unknown, data => unknown, qname => unknown) does not exist
  detail: Parameter qname is given twice.
  hint: The function is mbus4.post(qname text, data hstore, headers hstore default null, properties hstore default null, delayed_until timestamp without time zone default null, expires timestamp without time zone default null, iid text default null) returns text.

select mbus4.consume('q', 'c', 'd')
----
error 42883 at "mbus4.consum": function mbus4.consume(unknown, unknown, unknown) does not exist
  detail: Too many arguments.
  hint: The function is mbus4.consume(qname text, cname text default 'default') returns setof mbus4.qt_model.

select mbus4.consumen('q', amt => 'x', cname => 'd'), mbus4.consumen('q', amt => 1.5)
----
error 42883 at "mbus4.consum": function mbus4.consumen(unknown, amt => numeric) does not exist
  detail: Parameter amt is of type integer.
  hint: The function is mbus4.consumen(qname text, cname text default 'default', amt integer default '1') returns setof mbus4.qt_model.

select mbus4.consume(*)
----
error 42883 at "mbus4.consum": function mbus4.consume() does not exist
  detail: It is neither an aggregate nor a window function.
  hint: The function is mbus4.consume(qname text, cname text default 'default') returns setof mbus4.qt_model.

select mbus4.consume(distinct 'q')
----
error 42883 at "mbus4.consum": function mbus4.consume(unknown) does not exist
  detail: It is neither an aggregate nor a window function.
  hint: The function is mbus4.consume(qname text, cname text default 'default') returns setof mbus4.qt_model.

select mbus4.consume('q') over ()
----
error 42883 at "mbus4.consum": function mbus4.consume(unknown) does not exist
  detail: It is neither an aggregate nor a window function.
  hint: The function is mbus4.consume(qname text, cname text default 'default') returns setof mbus4.qt_model.

select mbus4.consume(variadic array['q'])
----
error 42883 at "mbus4.consum": function mbus4.consume(unknown) does not exist
  detail: It is not variadic.
  hint: The function is mbus4.consume(qname text, cname text default 'default') returns setof mbus4.qt_model.

select mbus4.post_q()
----
error 42883 at "mbus4.post_q": function mbus4.post_q() does not exist
  detail: Parameter data is missing.
  hint: The function is mbus4.post_q(data hstore, headers hstore default null, properties hstore default null, delayed_until timestamp without time zone default null, expires timestamp without time zone default null, iid text default null) returns text.

# rows that Postgres would not read, and so not post
with p as (select mbus4.post('q', hstore(t)) from t) select * from p limit 1
----
error 0A000 at "mbus4.post('": mbus4.post cannot be called in the target list of a query whose rows are read up to a LIMIT
  hint: Call it in the target list of the statement itself or of a CTE, for example: with m as (select mbus4.post(…) as r from …) select … from m.

select * from (select mbus4.post('q', hstore(t)) from t) s limit $1
----
error 0A000 at "mbus4.post('": mbus4.post cannot be called in the target list of a query whose rows are read up to a LIMIT
  hint: Call it in the target list of the statement itself or of a CTE, for example: with m as (select mbus4.post(…) as r from …) select … from m.

select (mbus4.consumen('a', amt => 3)).iid limit 1
----
error 0A000 at "mbus4.consum": mbus4.consumen cannot be called in a target list with LIMIT or OFFSET over a set
  hint: Call it in FROM of the statement itself or of a CTE, for example: with m as (select * from mbus4.consumen(…)) select … from m.

select * from t left join mbus4.consume('a') m on true
----
error 0A000 at "mbus4.consum": mbus4.consume cannot be called in the nullable side of an outer join
  hint: Call it in FROM of the statement itself or of a CTE, for example: with m as (select * from mbus4.consume(…)) select … from m.

select * from mbus4.consume('a') m right join t on true
----
error 0A000 at "mbus4.consum": mbus4.consume cannot be called in the nullable side of an outer join
  hint: Call it in FROM of the statement itself or of a CTE, for example: with m as (select * from mbus4.consume(…)) select … from m.
