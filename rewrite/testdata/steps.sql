select mbus4.run_on_q('insert into t select $1')
----
select outcome(1)::integer as "run_on_q"
step 1: run_on_q, qname "q" at 7, exec "insert into t select $1" at 22

select mbus4.run_q($1), mbus4.run_on_on_q(exec => $$select 'x'$$) as n, now()
----
select (case when pg_catalog.num_nonnulls(($1)::pg_catalog.text) >= 0 then outcome(1)::integer end) as "run_q", outcome(2)::integer as n, now()
step 1: run_q, qname "q" at 7, exec $1 at 19
step 2: run_on_on_q, qname "on_q" at 24, exec "select 'x'" at 50

select mbus4.run_on_()
----
error 42883 at "mbus4.run_on": function mbus4.run_on_() does not exist
  detail: Parameter exec is missing.
  hint: The function is mbus4.run_on_(exec text) returns integer.

select mbus4.create_view('q'), mbus4.create_view($1, viewname => $2::text), mbus4.create_view(qname => 'q', cname => null)
----
select outcome(1)::pg_catalog.void as "create_view", (case when pg_catalog.num_nonnulls(($1)::pg_catalog.text, ($2::text)::pg_catalog.text) >= 0 then outcome(2)::pg_catalog.void end) as "create_view", outcome(3)::pg_catalog.void as "create_view"
step 1: create_view, qname "q" at 25, cname "default" at 7, viewname null at 7
step 2: create_view, qname $1 at 49, cname "default" at 31, viewname $2 at 65
step 3: create_view, qname "q" at 103, cname null at 117, viewname null at 76

select mbus4.create_view_prop('q', 'c', 's', 'public.v', with_expire => true)
----
select outcome(1)::pg_catalog.void as "create_view_prop"
step 1: create_view_prop, qname "q" at 30, cname "c" at 35, sname "s" at 40, viewname "public.v" at 45, with_delay "false" at 7, with_expire "true" at 72

select mbus4.create_view_prop('q', 'c', 's', 'public.v', 'on'::boolean, cast('f' as bool)), mbus4.create_view_prop('q', 'c', 's', 5::text, $1::bool)
----
select outcome(1)::pg_catalog.void as "create_view_prop", (case when pg_catalog.num_nonnulls(($1::bool)::boolean) >= 0 then outcome(2)::pg_catalog.void end) as "create_view_prop"
step 1: create_view_prop, qname "q" at 30, cname "c" at 35, sname "s" at 40, viewname "public.v" at 45, with_delay "on" at 57, with_expire "f" at 72
step 2: create_view_prop, qname "q" at 115, cname "c" at 120, sname "s" at 125, viewname "5" at 130, with_delay $1 at 139, with_expire "false" at 92

select mbus4.run_on_q((-5)::text), mbus4.run_on_q(true::text), mbus4.run_on_q((- 1.50)::text)
----
select outcome(1)::integer as "run_on_q", outcome(2)::integer as "run_on_q", outcome(3)::integer as "run_on_q"
step 1: run_on_q, qname "q" at 7, exec "-5" at 22
step 2: run_on_q, qname "q" at 35, exec "true" at 50
step 3: run_on_q, qname "q" at 63, exec "-1.50" at 78

# in expressions that evaluate all of theirs
select 2 * mbus4.run_on_q('x')::bigint as twice, format('%s', mbus4.run_on_q('y')), row(mbus4.run_on_q('z')) is null, mbus4.peek(mbus4.run_on_q('x')::text), mbus4.post('q', hstore('n', mbus4.run_on_q('v')::text))
----
with mbus4_call7_args(n, "qname", "data", "headers", "properties", "delayed_until", "expires", "iid") as (select 1::bigint, ('q')::pg_catalog.text, (hstore('n', outcome(6)::integer::text))::mbus4_hstore.hstore, null::mbus4_hstore.hstore, null::mbus4_hstore.hstore, null::timestamp without time zone, null::timestamp without time zone, null::pg_catalog.text), mbus4_call7 as (select * from served) select 2 * outcome(1)::integer::bigint as twice, format('%s', outcome(2)::integer), row(outcome(3)::integer) is null, (select served_peek((outcome(4)::integer::text)::pg_catalog.text) as "peek")::mbus4.qt_model, (select "post" as "post" from mbus4_call7)
step 1: run_on_q, qname "q" at 11, exec "x" at 26
step 2: run_on_q, qname "q" at 62, exec "y" at 77
step 3: run_on_q, qname "q" at 88, exec "z" at 103
step 4: run_on_q, qname "q" at 129, exec "x" at 144
step 6: run_on_q, qname "q" at 185, exec "v" at 200

# alone in FROM
select * from mbus4.run_on_q('x')
----
select * from coalesce(outcome(1)::integer) as "run_on_q"
step 1: run_on_q, qname "q" at 14, exec "x" at 29

select n, n + 1 from mbus4.run_on_q('x') as n
----
select n, n + 1 from coalesce(outcome(1)::integer) as n
step 1: run_on_q, qname "q" at 21, exec "x" at 36

select run_on_q.run_on_q from mbus4.run_on_q('x')
----
select run_on_q.run_on_q from coalesce(outcome(1)::integer) as "run_on_q"
step 1: run_on_q, qname "q" at 30, exec "x" at 45

select count(*), max(n) from mbus4.run_on_q('x') n
----
select count(*), max(n) from coalesce(outcome(1)::integer) n
step 1: run_on_q, qname "q" at 29, exec "x" at 44

select mbus4.post('log', hstore('n', n::text)) from mbus4.run_on_q($1) n
----
with mbus4_rows1 as (select 1::bigint as n, s.* from (select null, (hstore('n', n::text))::mbus4_hstore.hstore from coalesce((case when pg_catalog.num_nonnulls(($1)::pg_catalog.text) >= 0 then outcome(1)::integer end)) n) as s(h1, h2)), mbus4_call2_args(n, "qname", "data", "headers", "properties", "delayed_until", "expires", "iid") as (select mbus4_rows1.n, ('log')::pg_catalog.text, mbus4_rows1.h2, null::mbus4_hstore.hstore, null::mbus4_hstore.hstore, null::timestamp without time zone, null::timestamp without time zone, null::pg_catalog.text from mbus4_rows1), mbus4_call2 as (select * from served_rows) select mbus4_call2."post" as "post" from mbus4_call2
step 1: run_on_q, qname "q" at 52, exec $1 at 67

select * from mbus4.create_view('q') as result
----
select * from coalesce(outcome(1)::pg_catalog.void) as result
step 1: create_view, qname "q" at 32, cname "default" at 14, viewname null at 14

# several statements
begin;; select mbus4.run_on_q('x'); select 1; select mbus4.run_on_q('y'), mbus4.run_q('z') ;;
----
begin;; select outcome(1)::integer as "run_on_q"; select 1; select outcome(2)::integer as "run_on_q", outcome(3)::integer as "run_q" ;;
step 1: run_on_q, qname "q" at 15, exec "x" at 30
step 2: run_on_q, qname "q" at 53, exec "y" at 68
step 3: run_q, qname "q" at 74, exec "z" at 86

# elsewhere Postgres might evaluate it never or twice
explain select mbus4.run_on_q('x')
----
error 0A000 at "mbus4.run_on": mbus4.run_on_q cannot be called in EXPLAIN
  hint: Call it in a statement of its own, for example: select mbus4.run_on_q(…).

prepare p as select mbus4.run_on_q('x')
----
error 0A000 at "mbus4.run_on": mbus4.run_on_q cannot be called in PREPARE
  hint: Call it in a statement of its own, for example: select mbus4.run_on_q(…).

copy (select mbus4.run_on_q('x')) to stdout
----
error 0A000 at "mbus4.run_on": mbus4.run_on_q cannot be called in COPY
  hint: Call it in a statement of its own, for example: select mbus4.run_on_q(…).

create table t as select mbus4.run_on_q('x')
----
error 0A000 at "mbus4.run_on": mbus4.run_on_q cannot be called in CREATE TABLE AS
  hint: Call it in a statement of its own, for example: select mbus4.run_on_q(…).

select mbus4.run_on_q('x') into t
----
error 0A000 at "mbus4.run_on": mbus4.run_on_q cannot be called in SELECT INTO
  hint: Call it in a statement of its own, for example: select mbus4.run_on_q(…).

insert into t select mbus4.run_on_q('x')
----
error 0A000 at "mbus4.run_on": mbus4.run_on_q cannot be called in INSERT
  hint: Call it in a statement of its own, for example: select mbus4.run_on_q(…).

insert into t values (mbus4.run_on_q('x'))
----
error 0A000 at "mbus4.run_on": mbus4.run_on_q cannot be called in INSERT
  hint: Call it in a statement of its own, for example: select mbus4.run_on_q(…).

update t set n = mbus4.run_on_q('x')
----
error 0A000 at "mbus4.run_on": mbus4.run_on_q cannot be called in this statement
  hint: Call it in a statement of its own, for example: select mbus4.run_on_q(…).

values (mbus4.run_on_q('x'))
----
error 0A000 at "mbus4.run_on": mbus4.run_on_q cannot be called in VALUES
  hint: Call it in a statement of its own, for example: select mbus4.run_on_q(…).

declare c cursor for select mbus4.run_on_q('x')
----
error 0A000 at "mbus4.run_on": mbus4.run_on_q cannot be called in DECLARE CURSOR
  hint: Call it in a statement of its own, for example: select mbus4.run_on_q(…).

create view v as select mbus4.run_on_q('x')
----
error 0A000 at "mbus4.run_on": mbus4.run_on_q cannot be called in a view
  hint: Call it in a statement of its own, for example: select mbus4.run_on_q(…).

with r as (select mbus4.run_on_q('x') n) select n from r
----
error 0A000 at "mbus4.run_on": mbus4.run_on_q cannot be called in a statement with WITH
  hint: Call it in a statement of its own, for example: select mbus4.run_on_q(…).

with r as (select 1) select mbus4.run_on_q('x') from r
----
error 0A000 at "mbus4.run_on": mbus4.run_on_q cannot be called in a statement with WITH
  hint: Call it in a statement of its own, for example: select mbus4.run_on_q(…).

select mbus4.run_on_q('x') from t
----
error 0A000 at "mbus4.run_on": mbus4.run_on_q cannot be called in a SELECT from anything else
  hint: Call it in a statement of its own, for example: select mbus4.run_on_q(…).

select 1 from t where mbus4.run_on_q('x') > 0
----
error 0A000 at "mbus4.run_on": mbus4.run_on_q cannot be called in a SELECT with WHERE
  hint: Call it in a statement of its own, for example: select mbus4.run_on_q(…).

select mbus4.run_on_q('x') where true
----
error 0A000 at "mbus4.run_on": mbus4.run_on_q cannot be called in a SELECT with WHERE
  hint: Call it in a statement of its own, for example: select mbus4.run_on_q(…).

select mbus4.run_on_q('x') limit 1
----
error 0A000 at "mbus4.run_on": mbus4.run_on_q cannot be called in a SELECT with LIMIT
  hint: Call it in a statement of its own, for example: select mbus4.run_on_q(…).

select distinct mbus4.run_on_q('x')
----
error 0A000 at "mbus4.run_on": mbus4.run_on_q cannot be called in a SELECT with DISTINCT
  hint: Call it in a statement of its own, for example: select mbus4.run_on_q(…).

select mbus4.run_on_q('x') order by 1
----
error 0A000 at "mbus4.run_on": mbus4.run_on_q cannot be called in a SELECT with ORDER BY
  hint: Call it in a statement of its own, for example: select mbus4.run_on_q(…).

select mbus4.run_on_q('x') union select 1
----
error 0A000 at "mbus4.run_on": mbus4.run_on_q cannot be called in UNION, INTERSECT or EXCEPT
  hint: Call it in a statement of its own, for example: select mbus4.run_on_q(…).

select case when true then mbus4.run_on_q('x') end
----
error 0A000 at "mbus4.run_on": mbus4.run_on_q cannot be called in CASE
  hint: Call it in a statement of its own, for example: select mbus4.run_on_q(…).

select coalesce(1, mbus4.run_on_q('x'))
----
error 0A000 at "mbus4.run_on": mbus4.run_on_q cannot be called in COALESCE behind its first argument
  hint: Call it in a statement of its own, for example: select mbus4.run_on_q(…).

select mbus4.run_on_q('x') > 0 and true
----
error 0A000 at "mbus4.run_on": mbus4.run_on_q cannot be called in AND, OR or NOT
  hint: Call it in a statement of its own, for example: select mbus4.run_on_q(…).

select (select mbus4.run_on_q('x'))
----
error 0A000 at "mbus4.run_on": mbus4.run_on_q cannot be called in a subquery
  hint: Call it in a statement of its own, for example: select mbus4.run_on_q(…).

select sum(mbus4.run_on_q('x')) over ()
----
select sum(outcome(1)::integer) over ()
step 1: run_on_q, qname "q" at 11, exec "x" at 26

select sum(1) filter (where mbus4.run_on_q('x') > 0)
----
error 0A000 at "mbus4.run_on": mbus4.run_on_q cannot be called in ORDER BY or FILTER of an aggregate
  hint: Call it in a statement of its own, for example: select mbus4.run_on_q(…).

select mbus4.run_on_q('x'), generate_series(1, 3)
----
error 0A000 at "mbus4.run_on": mbus4.run_on_q cannot be called in a target list with a set
  hint: Call it in a statement of its own, for example: select mbus4.run_on_q(…).

select mbus4.run_on_q('x'), mbus4.consume('q')
----
error 0A000 at "mbus4.run_on": mbus4.run_on_q cannot be called in a target list with a set
  hint: Call it in a statement of its own, for example: select mbus4.run_on_q(…).

# a set in a subquery, or over FROM, is none
select mbus4.run_on_q('x'), array(select generate_series(1, 3))
----
select outcome(1)::integer as "run_on_q", array(select generate_series(1, 3))
step 1: run_on_q, qname "q" at 7, exec "x" at 22

select generate_series(1, n) from mbus4.run_on_q('x') n
----
select generate_series(1, n) from coalesce(outcome(1)::integer) n
step 1: run_on_q, qname "q" at 34, exec "x" at 49

select * from mbus4.run_on_q('x') n where n > 0
----
error 0A000 at "mbus4.run_on": mbus4.run_on_q cannot be called in a SELECT with WHERE
  hint: Call it in a statement of its own, for example: select mbus4.run_on_q(…).

select * from mbus4.run_on_q('x') n, t
----
error 0A000 at "mbus4.run_on": mbus4.run_on_q cannot be called in a SELECT from anything else
  hint: Call it in a statement of its own, for example: select mbus4.run_on_q(…).

select * from rows from (mbus4.run_on_q('x')) n
----
error 0A000 at "mbus4.run_on": mbus4.run_on_q cannot be called in a SELECT from anything else
  hint: Call it in a statement of its own, for example: select mbus4.run_on_q(…).

select * from (select mbus4.run_on_q('x')) n
----
error 0A000 at "mbus4.run_on": mbus4.run_on_q cannot be called in a SELECT from anything else
  hint: Call it in a statement of its own, for example: select mbus4.run_on_q(…).

select * from abs(mbus4.run_on_q('x')) n
----
error 0A000 at "mbus4.run_on": mbus4.run_on_q cannot be called in a SELECT from anything else
  hint: Call it in a statement of its own, for example: select mbus4.run_on_q(…).

select mbus4.run_on_q('x') from mbus4.run_on_q('y')
----
error 0A000 at "mbus4.run_on": mbus4.run_on_q cannot be called in the target list of a SELECT with FROM
  hint: Call it in a statement of its own, for example: select mbus4.run_on_q(…).

select * from mbus4.run_on_q('x') limit 0
----
error 0A000 at "mbus4.run_on": mbus4.run_on_q cannot be called in a SELECT with LIMIT
  hint: Call it in a statement of its own, for example: select mbus4.run_on_q(…).

# arguments that must be evaluated
select mbus4.run_on_q('a' || 'b'), mbus4.run_on_q('a' || $1 || ($2)::text), mbus4.run_on_q(format('%s%s', $3::int, $1) /* $4 */)
----
select (case when pg_catalog.num_nonnulls(('a' || 'b')::pg_catalog.text) >= 0 then outcome(1)::integer end) as "run_on_q", (case when pg_catalog.num_nonnulls(('a' || $1 || ($2)::text)::pg_catalog.text) >= 0 then outcome(2)::integer end) as "run_on_q", (case when pg_catalog.num_nonnulls((case when true then null else (format('%s%s', $3::int, $1)) end)::pg_catalog.text) >= 0 then outcome(3)::integer end) as "run_on_q"
step 1: run_on_q, qname "q" at 7, exec ("a" || "b") at 22
step 2: run_on_q, qname "q" at 35, exec (("a" || $1) || $2) at 50
step 3: run_on_q, qname "q" at 76, exec evaluated "format('%s%s', " $3 "::int, " $1 ")" at 91

select mbus4.create_view('q' || $1), mbus4.create_consumer('q', 'c', 'true ' || $2)
----
with mbus4_call2_args(n, "qname", "cname", "selector", "noindex") as (select 1::bigint, ('q')::pg_catalog.text, ('c')::pg_catalog.text, ('true ' || $2)::pg_catalog.text, 'false'::boolean), mbus4_call2 as (select * from served) select (case when pg_catalog.num_nonnulls(('q' || $1)::pg_catalog.text) >= 0 then outcome(1)::pg_catalog.void end) as "create_view", (select "create_consumer" as "create_consumer" from mbus4_call2)
selector ("true " || $2) at 69
step 1: create_view, qname ("q" || $1) at 25, cname "default" at 7, viewname null at 7

call mbus4.process_queue(pg_backend_pid(), 'a' || 1)
----
call done_process_queue((case when true then null else (pg_backend_pid()) end)::integer, (case when true then null else ('a' || 1) end)::pg_catalog.text, null::integer, null::pg_catalog.interval, null::pg_catalog.interval, null::double precision)
step 1: process_queue, current_process_id evaluated "pg_backend_pid()" at 25, handler evaluated "'a' || 1" at 43, max_attempts null at 5, backoff null at 5, max_backoff null at 5, jitter null at 5

prepare p as select mbus4.create_consumer('q', 'c', 'true ' || $1)
----
error 0A000 at "'true ' || $": argument selector of mbus4.create_consumer must be known before the statement runs
  detail: Parameters of this statement are known only when it is executed.
  hint: Give the selector as a literal or as a bind parameter.

# arguments that are not known before
select mbus4.create_view(lower('Q'))
----
error 0A000 at "lower('Q'))": argument qname of mbus4.create_view must be known before the statement runs
  hint: Give qname as a literal or as a bind parameter.

select mbus4.run_on_q(mbus4.post('q', ''))
----
error 0A000 at "mbus4.post('": argument exec of mbus4.run_on_q must be known before the statement runs
  hint: Give exec as a literal or as a bind parameter.

select mbus4.create_view_prop('q', 'c', 's', 'public.v', 1::boolean)
----
error 0A000 at "1::boolean)": argument with_delay of mbus4.create_view_prop must be known before the statement runs
  hint: Give with_delay as a literal or as a bind parameter.

select mbus4.run_on_q(exec => 1)
----
error 42883 at "mbus4.run_on": function mbus4.run_on_q(exec => integer) does not exist
  detail: Parameter exec is of type text.
  hint: The function is mbus4.run_on_q(exec text) returns integer.
