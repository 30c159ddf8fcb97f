# All that is found is ours, as the session says.
select post('q', 'a=>1')
----
with mbus4_call1_args(n, "qname", "data", "headers", "properties", "delayed_until", "expires", "iid") as (select 1::bigint, ('q')::pg_catalog.text, (row('a=>1')::mbus4_hstore.given).value, null::mbus4_hstore.hstore, null::mbus4_hstore.hstore, null::timestamp without time zone, null::timestamp without time zone, null::pg_catalog.text), mbus4_call1 as (select * from served) select "post" as "post" from mbus4_call1

select * from consume('q')
----
with mbus4_call1_args(n, "qname", "cname") as (select 1::bigint, ('q')::pg_catalog.text, 'default'::pg_catalog.text), mbus4_call1 as (select * from served) select * from (select (m.r).* from (select "consume" as r from mbus4_call1) m) as "consume"

select m.iid from consume('q') m join users u on u.id = post.id
----
with mbus4_call1_args(n, "qname", "cname") as (select 1::bigint, ('q')::pg_catalog.text, 'default'::pg_catalog.text), mbus4_call1 as (select * from served) select m.iid from pg_catalog.unnest(array(select "consume" from mbus4_call1)) m join users u on u.id = post.id

select POST ( 'q', 'a=>1' ), "post"('q', 'a=>2')
----
with mbus4_call1_args(n, "qname", "data", "headers", "properties", "delayed_until", "expires", "iid") as (select 1::bigint, ('q')::pg_catalog.text, (row('a=>1')::mbus4_hstore.given).value, null::mbus4_hstore.hstore, null::mbus4_hstore.hstore, null::timestamp without time zone, null::timestamp without time zone, null::pg_catalog.text), mbus4_call1 as (select * from served), mbus4_call2_args(n, "qname", "data", "headers", "properties", "delayed_until", "expires", "iid") as (select 1::bigint, ('q')::pg_catalog.text, (row('a=>2')::mbus4_hstore.given).value, null::mbus4_hstore.hstore, null::mbus4_hstore.hstore, null::timestamp without time zone, null::timestamp without time zone, null::pg_catalog.text), mbus4_call2 as (select * from served) select (select "post" as "post" from mbus4_call1), (select "post" as "post" from mbus4_call2)

select post/* why */('q', 'a=>1')
----
with mbus4_call1_args(n, "qname", "data", "headers", "properties", "delayed_until", "expires", "iid") as (select 1::bigint, ('q')::pg_catalog.text, (row('a=>1')::mbus4_hstore.given).value, null::mbus4_hstore.hstore, null::mbus4_hstore.hstore, null::timestamp without time zone, null::timestamp without time zone, null::pg_catalog.text), mbus4_call1 as (select * from served) select "post" as "post" from mbus4_call1

select consume_q_by_c()
----
with mbus4_call1_args(n, "qname", "cname") as (select 1::bigint, ('q')::pg_catalog.text, ('c')::pg_catalog.text), mbus4_call1 as (select * from served) select pg_catalog.unnest(array(select "consume" from mbus4_call1)) as "consume_q_by_c"

select 1 from t where post('q', 'a=>1') = 'x'
----
select 1 from t where at_post(('q')::pg_catalog.text, (row('a=>1')::mbus4_hstore.given).value, null::mbus4_hstore.hstore, null::mbus4_hstore.hstore, null::timestamp without time zone, null::timestamp without time zone, null::pg_catalog.text, 1) = 'x'

select mbus4.post('q', 'a=>1'), post('q', 'a=>1')
----
with mbus4_call1_args(n, "qname", "data", "headers", "properties", "delayed_until", "expires", "iid") as (select 1::bigint, ('q')::pg_catalog.text, (row('a=>1')::mbus4_hstore.given).value, null::mbus4_hstore.hstore, null::mbus4_hstore.hstore, null::timestamp without time zone, null::timestamp without time zone, null::pg_catalog.text), mbus4_call1 as (select * from served), mbus4_call2_args(n, "qname", "data", "headers", "properties", "delayed_until", "expires", "iid") as (select 1::bigint, ('q')::pg_catalog.text, (row('a=>1')::mbus4_hstore.given).value, null::mbus4_hstore.hstore, null::mbus4_hstore.hstore, null::timestamp without time zone, null::timestamp without time zone, null::pg_catalog.text), mbus4_call2 as (select * from served) select (select "post" as "post" from mbus4_call1), (select "post" as "post" from mbus4_call2)

select post('q', hstore('id', take.id)) from take
----
with mbus4_rows1 as (select 1::bigint as n, s.* from (select null, (hstore('id', take.id))::mbus4_hstore.hstore from take) as s(h1, h2)), mbus4_call1_args(n, "qname", "data", "headers", "properties", "delayed_until", "expires", "iid") as (select mbus4_rows1.n, ('q')::pg_catalog.text, mbus4_rows1.h2, null::mbus4_hstore.hstore, null::mbus4_hstore.hstore, null::timestamp without time zone, null::timestamp without time zone, null::pg_catalog.text from mbus4_rows1), mbus4_call1 as (select * from served_rows) select mbus4_call1."post" as "post" from mbus4_call1

call process_queue(1)
----
call done_process_queue((1)::integer, null::pg_catalog.text, null::integer, null::pg_catalog.interval, null::pg_catalog.interval, null::double precision)
step 1: process_queue, current_process_id "1" at 19, handler null at 5, max_attempts null at 5, backoff null at 5, max_backoff null at 5, jitter null at 5

select run_on_q('select 1')
----
select outcome(1)::integer as "run_on_q"
step 1: run_on_q, qname "q" at 7, exec "select 1" at 16

# A name that another schema's function has.
select other.post('q', 'a=>1')
----
(forwarded)

# Quoted in capitals it is another.
select "POST"('q', 'a=>1')
----
(forwarded)

# Arguments that fit none of ours.
select post('q')
----
(forwarded)

# The argument might be a row.
select take(x) from t x
----
with mbus4_rows1 as (select pg_catalog.row_number() over () as n, s.* from (select null, pg_catalog.textcat((x), '')::pg_catalog.text from t x) as s(h1, h2)), mbus4_call1_args(n, "msgid") as (select mbus4_rows1.n, mbus4_rows1.h2 from mbus4_rows1), mbus4_call1 as (select * from served_rows) select mbus4_call1."take" as "take" from mbus4_call1 order by mbus4_call1.n

select (take(x || '')).iid from t x
----
with mbus4_rows1 as (select pg_catalog.row_number() over () as n, s.* from (select null, pg_catalog.textcat((x || ''), '')::pg_catalog.text from t x) as s(h1, h2)), mbus4_call1_args(n, "msgid") as (select mbus4_rows1.n, mbus4_rows1.h2 from mbus4_rows1), mbus4_call1 as (select * from served_rows) select (mbus4_call1."take").iid as "iid" from mbus4_call1 order by mbus4_call1.n

select take(x::text) from t x
----
with mbus4_rows1 as (select pg_catalog.row_number() over () as n, s.* from (select null, pg_catalog.textcat((x::text), '')::pg_catalog.text from t x) as s(h1, h2)), mbus4_call1_args(n, "msgid") as (select mbus4_rows1.n, mbus4_rows1.h2 from mbus4_rows1), mbus4_call1 as (select * from served_rows) select mbus4_call1."take" as "take" from mbus4_call1 order by mbus4_call1.n

# One that bears its own guard: SQL's PREPARE may run later.
prepare p as select post('q', 'a=>1')
----
prepare p as with mbus4_call1_args(n, "qname", "data", "headers", "properties", "delayed_until", "expires", "iid") as (select 1::bigint, (case when ours_still('post', 2, '{}', 1) then ('q')::pg_catalog.text end), (row('a=>1')::mbus4_hstore.given).value, null::mbus4_hstore.hstore, null::mbus4_hstore.hstore, null::timestamp without time zone, null::timestamp without time zone, null::pg_catalog.text), mbus4_call1 as (select * from served) select "post" as "post" from mbus4_call1

prepare p as select readme()
----
prepare p as select (case when ours_still('readme', 0, '{}', 1) then (select served_readme() as "readme") end)

prepare p as select 1 where post('q', 'a=>1') is null
----
prepare p as select 1 where at_post((case when ours_still('post', 2, '{}', 1) then ('q')::pg_catalog.text end), (row('a=>1')::mbus4_hstore.given).value, null::mbus4_hstore.hstore, null::mbus4_hstore.hstore, null::timestamp without time zone, null::timestamp without time zone, null::pg_catalog.text, 1) is null

# So does each of several statements.
select 1; select * from consume('q')
----
select 1; with mbus4_call1_args(n, "qname", "cname") as (select 1::bigint, (case when ours_still('consume', 1, '{}', 1) then ('q')::pg_catalog.text end), 'default'::pg_catalog.text), mbus4_call1 as (select * from served) select * from (select (m.r).* from (select "consume" as r from mbus4_call1) m) as "consume"

select 1; select run_on_q('select 1')
----
select 1; select outcome(1)::integer as "run_on_q"
step 1: run_on_q, qname "q" at 17, exec "select 1" at 26

select 1; call process_queue(1)
----
select 1; call done_process_queue((1)::integer, null::pg_catalog.text, null::integer, null::pg_catalog.interval, null::pg_catalog.interval, null::double precision)
step 1: process_queue, current_process_id "1" at 29, handler null at 15, max_attempts null at 15, backoff null at 15, max_backoff null at 15, jitter null at 15

select 1; execute p(post('q', 'a=>1'))
----
error 0A000 at "post('q', 'a": post cannot be called without its schema in the arguments of a prepared CALL or EXECUTE, nor in one of several statements
  hint: Write mbus4.post(…).

select 1; call p(post('q', 'a=>1'))
----
error 0A000 at "post('q', 'a": post cannot be called without its schema in the arguments of a prepared CALL or EXECUTE, nor in one of several statements
  hint: Write mbus4.post(…).

select 1; copy t from stdin where post('q', 'a=>1') is null
----
error 0A000 at "post('q', 'a": post cannot be called without its schema in the arguments of a prepared CALL or EXECUTE, nor in one of several statements
  hint: Write mbus4.post(…).

# Alone they are asked about and run at once.
execute p(post('q', 'a=>1'))
----
execute p(at_post(('q')::pg_catalog.text, (row('a=>1')::mbus4_hstore.given).value, null::mbus4_hstore.hstore, null::mbus4_hstore.hstore, null::timestamp without time zone, null::timestamp without time zone, null::pg_catalog.text, 1))

# What is stored is the server's.
create view v as select post('q', 'a=>1')
----
(forwarded)

create index on t (get_iid(a))
----
(forwarded)

create table t (a text default get_iid('q'))
----
(forwarded)

# What is no call.
insert into post (a) values (1)
----
(forwarded)

create table post (a int)
----
(forwarded)

select a from x as post(a)
----
(forwarded)

with post(a) as (select 1) select a from post
----
(forwarded)

select sum(a) over post from t window post as (partition by a)
----
(forwarded)

select '1'::consume(3), cast('1' as take(2)), peek(3) '1'
----
(forwarded)

create table t (x consume(3))
----
(forwarded)

select post, consume.take from post, consume
----
(forwarded)

drop function post(text)
----
(forwarded)

grant execute on function take(text) to x
----
(forwarded)

create trigger post after insert on t execute function post()
----
(forwarded)
