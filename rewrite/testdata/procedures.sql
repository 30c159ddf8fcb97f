# the step's text takes the place of the whole statement in a Query; this is what a Parse gets
call mbus4.process_queue(1)
----
call done_process_queue((1)::integer, null::pg_catalog.text, null::integer, null::pg_catalog.interval, null::pg_catalog.interval, null::double precision)
step 1: process_queue, current_process_id "1" at 25, handler null at 5, max_attempts null at 5, backoff null at 5, max_backoff null at 5, jitter null at 5

call mbus4.process_queue($1, $2)
----
call done_process_queue(($1)::integer, ($2)::pg_catalog.text, null::integer, null::pg_catalog.interval, null::pg_catalog.interval, null::double precision)
step 1: process_queue, current_process_id $1 at 25, handler $2 at 29, max_attempts null at 5, backoff null at 5, max_backoff null at 5, jitter null at 5

call mbus4.process_queue(current_process_id => 7, handler => $$insert into t values ($1)$$)
----
call done_process_queue((7)::integer, ($$insert into t values ($1)$$)::pg_catalog.text, null::integer, null::pg_catalog.interval, null::pg_catalog.interval, null::double precision)
step 1: process_queue, current_process_id "7" at 47, handler "insert into t values ($1)" at 61, max_attempts null at 5, backoff null at 5, max_backoff null at 5, jitter null at 5

CALL /* by name */ "mbus4".Process_Queue(handler := 'select 1', current_process_id := '-7') ;
----
CALL /* by name */ done_process_queue(('-7')::integer, ('select 1')::pg_catalog.text, null::integer, null::pg_catalog.interval, null::pg_catalog.interval, null::double precision) ;
step 1: process_queue, current_process_id "-7" at 86, handler "select 1" at 52, max_attempts null at 19, backoff null at 19, max_backoff null at 19, jitter null at 19

# casts to the parameter's own type keep what is written
call mbus4.process_queue(1::int, null::text)
----
call done_process_queue((1::int)::integer, (null::text)::pg_catalog.text, null::integer, null::pg_catalog.interval, null::pg_catalog.interval, null::double precision)
step 1: process_queue, current_process_id "1" at 25, handler null at 33, max_attempts null at 5, backoff null at 5, max_backoff null at 5, jitter null at 5

call mbus4.process_queue(1::int, 'x'::text)
----
call done_process_queue((1::int)::integer, ('x'::text)::pg_catalog.text, null::integer, null::pg_catalog.interval, null::pg_catalog.interval, null::double precision)
step 1: process_queue, current_process_id "1" at 25, handler "x" at 33, max_attempts null at 5, backoff null at 5, max_backoff null at 5, jitter null at 5

call mbus4.process_queue($1::integer, cast($2 as varchar))
----
call done_process_queue(($1::integer)::integer, (cast($2 as varchar))::pg_catalog.text, null::integer, null::pg_catalog.interval, null::pg_catalog.interval, null::double precision)
step 1: process_queue, current_process_id $1 at 25, handler $2 at 38, max_attempts null at 5, backoff null at 5, max_backoff null at 5, jitter null at 5

call mbus4.process_queue(-1, null)
----
call done_process_queue((-1)::integer, (null)::pg_catalog.text, null::integer, null::pg_catalog.interval, null::pg_catalog.interval, null::double precision)
step 1: process_queue, current_process_id "-1" at 25, handler null at 29, max_attempts null at 5, backoff null at 5, max_backoff null at 5, jitter null at 5

# other casts may change it
call mbus4.process_queue('1'::text::int)
----
call done_process_queue((case when true then null else ('1'::text::int) end)::integer, null::pg_catalog.text, null::integer, null::pg_catalog.interval, null::pg_catalog.interval, null::double precision)
step 1: process_queue, current_process_id evaluated "'1'::text::int" at 25, handler null at 5, max_attempts null at 5, backoff null at 5, max_backoff null at 5, jitter null at 5

call mbus4.process_queue(1.5::int)
----
call done_process_queue((case when true then null else (1.5::int) end)::integer, null::pg_catalog.text, null::integer, null::pg_catalog.interval, null::pg_catalog.interval, null::double precision)
step 1: process_queue, current_process_id evaluated "1.5::int" at 25, handler null at 5, max_attempts null at 5, backoff null at 5, max_backoff null at 5, jitter null at 5

call mbus4.process_queue(true::int)
----
call done_process_queue((case when true then null else (true::int) end)::integer, null::pg_catalog.text, null::integer, null::pg_catalog.interval, null::pg_catalog.interval, null::double precision)
step 1: process_queue, current_process_id evaluated "true::int" at 25, handler null at 5, max_attempts null at 5, backoff null at 5, max_backoff null at 5, jitter null at 5

call mbus4.process_queue(pg_backend_pid())
----
call done_process_queue((case when true then null else (pg_backend_pid()) end)::integer, null::pg_catalog.text, null::integer, null::pg_catalog.interval, null::pg_catalog.interval, null::double precision)
step 1: process_queue, current_process_id evaluated "pg_backend_pid()" at 25, handler null at 5, max_attempts null at 5, backoff null at 5, max_backoff null at 5, jitter null at 5

call mbus4.process_queue(1, 'a' || 'b')
----
call done_process_queue((1)::integer, ('a' || 'b')::pg_catalog.text, null::integer, null::pg_catalog.interval, null::pg_catalog.interval, null::double precision)
step 1: process_queue, current_process_id "1" at 25, handler ("a" || "b") at 28, max_attempts null at 5, backoff null at 5, max_backoff null at 5, jitter null at 5

call mbus4.process_queue(mbus4.release_messages(1)::int)
----
error 0A000 at "mbus4.releas": argument current_process_id of mbus4.process_queue must be known before the statement runs
  hint: Give current_process_id as a literal or as a bind parameter.

# what Postgres says of a procedure in an expression, and of a function in CALL
select mbus4.process_queue(1)
----
error 42809 at "mbus4.proces": mbus4.process_queue(…) is a procedure
  hint: To call a procedure, use CALL.

select * from mbus4.process_queue(1, 'x')
----
error 42809 at "mbus4.proces": mbus4.process_queue(…) is a procedure
  hint: To call a procedure, use CALL.

select 'ä', mbus4.add_message('1'), mbus4.process_queue(1)
----
error 42809 at "mbus4.proces": mbus4.process_queue(…) is a procedure
  hint: To call a procedure, use CALL.

insert into t select mbus4.process_queue(1)
----
error 42809 at "mbus4.proces": mbus4.process_queue(…) is a procedure
  hint: To call a procedure, use CALL.

call mbus4.add_message('{}')
----
error 42809 at "mbus4.add_me": mbus4.add_message(…) is not a procedure
  hint: To call a function, use SELECT.

call mbus4.post('q', '')
----
error 42809 at "mbus4.post('": mbus4.post(…) is not a procedure
  hint: To call a function, use SELECT.

call mbus4.consume('q')
----
error 42809 at "mbus4.consum": mbus4.consume(…) is not a procedure
  hint: To call a function, use SELECT.

# wrong numbers, names and types
call mbus4.process_queue()
----
error 42883 at "mbus4.proces": procedure mbus4.process_queue() does not exist
  detail: Parameter current_process_id is missing.
  hint: The procedure is mbus4.process_queue(current_process_id integer, handler text default null, max_attempts integer default null, backoff interval default null, max_backoff interval default null, jitter double precision default null).

call mbus4.process_queue(1, 'x', 2)
----
call done_process_queue((1)::integer, ('x')::pg_catalog.text, (2)::integer, null::pg_catalog.interval, null::pg_catalog.interval, null::double precision)
step 1: process_queue, current_process_id "1" at 25, handler "x" at 28, max_attempts "2" at 33, backoff null at 5, max_backoff null at 5, jitter null at 5

call mbus4.process_queue(1, process => 2)
----
error 42883 at "mbus4.proces": procedure mbus4.process_queue(integer, process => integer) does not exist
  detail: It has no parameter named process.
  hint: The procedure is mbus4.process_queue(current_process_id integer, handler text default null, max_attempts integer default null, backoff interval default null, max_backoff interval default null, jitter double precision default null).

call mbus4.process_queue(5000000000)
----
error 42883 at "mbus4.proces": procedure mbus4.process_queue(numeric) does not exist
  detail: Parameter current_process_id is of type integer.
  hint: The procedure is mbus4.process_queue(current_process_id integer, handler text default null, max_attempts integer default null, backoff interval default null, max_backoff interval default null, jitter double precision default null).

call mbus4.process_queue(1, current_process_id => 1)
----
error 42883 at "mbus4.proces": procedure mbus4.process_queue(integer, current_process_id => integer) does not exist
  detail: Parameter current_process_id is given twice.
  hint: The procedure is mbus4.process_queue(current_process_id integer, handler text default null, max_attempts integer default null, backoff interval default null, max_backoff interval default null, jitter double precision default null).

# several statements: the server refuses to commit there
select 1; call mbus4.process_queue(1); call mbus4.process_queue(2, 'x')
----
select 1; call done_process_queue((1)::integer, null::pg_catalog.text, null::integer, null::pg_catalog.interval, null::pg_catalog.interval, null::double precision); call done_process_queue((2)::integer, ('x')::pg_catalog.text, null::integer, null::pg_catalog.interval, null::pg_catalog.interval, null::double precision)
step 1: process_queue, current_process_id "1" at 35, handler null at 15, max_attempts null at 15, backoff null at 15, max_backoff null at 15, jitter null at 15
step 2: process_queue, current_process_id "2" at 64, handler "x" at 67, max_attempts null at 44, backoff null at 44, max_backoff null at 44, jitter null at 44

begin; call mbus4.process_queue($1)
----
begin; call done_process_queue(($1)::integer, null::pg_catalog.text, null::integer, null::pg_catalog.interval, null::pg_catalog.interval, null::double precision)
step 1: process_queue, current_process_id $1 at 32, handler null at 12, max_attempts null at 12, backoff null at 12, max_backoff null at 12, jitter null at 12

# another's procedure
call p(mbus4.process_queue(1))
----
error 42809 at "mbus4.proces": mbus4.process_queue(…) is a procedure
  hint: To call a procedure, use CALL.

call other.process_queue(1)
----
(forwarded)

explain select mbus4.process_queue(1)
----
error 42809 at "mbus4.proces": mbus4.process_queue(…) is a procedure
  hint: To call a procedure, use CALL.

# the functions of the work queue
select mbus4.add_message($1), mbus4.complete_message(5), mbus4.release_messages(process_id => 7)
----
with mbus4_call1_args(n, "payload") as (select 1::bigint, ($1)::pg_catalog.jsonb), mbus4_call1 as (select * from served), mbus4_call2_args(n, "message_id") as (select 1::bigint, (5)::bigint), mbus4_call2 as (select * from served), mbus4_call3_args(n, "process_id") as (select 1::bigint, (7)::integer), mbus4_call3 as (select * from served) select (select "add_message" as "add_message" from mbus4_call1), (select "complete_message" as "complete_message" from mbus4_call2), (select "release_messages" as "release_messages" from mbus4_call3)

select id, payload from mbus4.get_next_message(pg_backend_pid())
----
with mbus4_call1_args(n, "current_process_id") as (select 1::bigint, (pg_backend_pid())::integer), mbus4_call1 as (select * from served) select id, payload from (select (m.r).* from (select "get_next_message" as r from mbus4_call1) m) as "get_next_message"

select (mbus4.get_next_message(p)).* from (values (1), (2)) v (p)
----
with mbus4_rows1 as (select pg_catalog.row_number() over () as n, s.* from (select null, (p)::integer from (values (1), (2)) v (p)) as s(h1, h2)), mbus4_call1_args(n, "current_process_id") as (select mbus4_rows1.n, mbus4_rows1.h2 from mbus4_rows1), mbus4_call1 as (select * from served_rows) select (mbus4_call1."get_next_message").* from mbus4_call1 order by mbus4_call1.n, mbus4_call1.o

insert into mbus4.work_queue(payload) values ('{}')
----
(forwarded)

# a policy for attempts
call mbus4.process_queue($1, $2, max_attempts => $3, backoff => interval '1 s' * $4, jitter => 0)
----
call done_process_queue(($1)::integer, ($2)::pg_catalog.text, ($3)::integer, (case when true then null else (interval '1 s' * $4) end)::pg_catalog.interval, null::pg_catalog.interval, (0)::double precision)
step 1: process_queue, current_process_id $1 at 25, handler $2 at 29, max_attempts $3 at 49, backoff evaluated "interval '1 s' * " $4 "" at 64, max_backoff null at 5, jitter "0" at 95
