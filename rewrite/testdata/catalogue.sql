# both names of a parameter, the second function's columns
select mbus4.post_temp('temp.x', 'a=>1'), mbus4.post_temp(tqname => 'temp.x', data => ''), mbus4.post_temp(qname => 'temp.x', data => '')
----
with mbus4_call1_args(n, "qname", "data", "headers", "properties", "delayed_until", "expires", "iid") as (select 1::bigint, ('temp.x')::pg_catalog.text, (row('a=>1')::mbus4_hstore.given).value, null::mbus4_hstore.hstore, null::mbus4_hstore.hstore, null::timestamp without time zone, null::timestamp without time zone, null::pg_catalog.text), mbus4_call1 as (select * from served), mbus4_call2_args(n, "qname", "data", "headers", "properties", "delayed_until", "expires", "iid") as (select 1::bigint, ('temp.x')::pg_catalog.text, (row('')::mbus4_hstore.given).value, null::mbus4_hstore.hstore, null::mbus4_hstore.hstore, null::timestamp without time zone, null::timestamp without time zone, null::pg_catalog.text), mbus4_call2 as (select * from served), mbus4_call3_args(n, "qname", "data", "headers", "properties", "delayed_until", "expires", "iid") as (select 1::bigint, ('temp.x')::pg_catalog.text, (row('')::mbus4_hstore.given).value, null::mbus4_hstore.hstore, null::mbus4_hstore.hstore, null::timestamp without time zone, null::timestamp without time zone, null::pg_catalog.text), mbus4_call3 as (select * from served) select (select "post" as "post_temp" from mbus4_call1), (select "post" as "post_temp" from mbus4_call2), (select "post" as "post_temp" from mbus4_call3)

select mbus4.post_temp(data => '')
----
error 42883 at "mbus4.post_t": function mbus4.post_temp(data => unknown) does not exist
  detail: Parameter tqname is missing.
  hint: The function is mbus4.post_temp(tqname text, data hstore default null, headers hstore default null, properties hstore default null, delayed_until timestamp without time zone default null, expires timestamp without time zone default null, iid text default null, unique_key text default null, unique_for interval default null, payload jsonb default null) returns text.

# a function's own name wins over a family's, and a family takes any queue
select mbus4.post_dmq('a=>1')
----
with mbus4_call1_args(n, "qname", "data", "headers", "properties", "delayed_until", "expires", "iid") as (select 1::bigint, ('dmq')::pg_catalog.text, (row('a=>1')::mbus4_hstore.given).value, null::mbus4_hstore.hstore, null::mbus4_hstore.hstore, null::timestamp without time zone, null::timestamp without time zone, null::pg_catalog.text), mbus4_call1 as (select * from served) select "post" as "post_dmq" from mbus4_call1

select iid from mbus4.dyn_consume('q', $1) where iid <> ''
----
with mbus4_call1_args(n, "qname", "selector", "cname") as (select 1::bigint, ('q')::pg_catalog.text, ($1)::pg_catalog.text, 'default'::pg_catalog.text), mbus4_call1 as (select * from served) select iid from pg_catalog.unnest(array(select "dyn_consume" from mbus4_call1)) as "dyn_consume" where iid <> ''

select mbus4.dyn_consume(t.name, selector => t.selector, cname => 'c') from t
----
with mbus4_rows1 as (select pg_catalog.row_number() over () as n, s.* from (select null, (t.name)::pg_catalog.text, (t.selector)::pg_catalog.text from t) as s(h1, h2, h3)), mbus4_call1_args(n, "qname", "selector", "cname") as (select mbus4_rows1.n, mbus4_rows1.h2, mbus4_rows1.h3, ('c')::pg_catalog.text from mbus4_rows1), mbus4_call1 as (select * from served_rows) select mbus4_call1."dyn_consume" as "dyn_consume" from mbus4_call1 order by mbus4_call1.n, mbus4_call1.o

select mbus4.clear_queue_q(), mbus4.drop_trigger('a', 'b')
----
with mbus4_call1_args(n, "qname") as (select 1::bigint, ('q')::pg_catalog.text), mbus4_call1 as (select * from served), mbus4_call2_args(n, "src", "dst") as (select 1::bigint, ('a')::pg_catalog.text, ('b')::pg_catalog.text), mbus4_call2 as (select * from served) select (select "clear_queue" as "clear_queue_q" from mbus4_call1), (select "drop_trigger" as "drop_trigger" from mbus4_call2)

select mbus4.readme(), mbus4.estimated_messages('q'), mbus4.create_run_function('q'), mbus4.regenerate_functions()
----
select (select served_readme() as "readme"), (select served_estimated_messages(('q')::pg_catalog.text) as "estimated_messages"), (select served_create_run_function(('q')::pg_catalog.text) as "create_run_function"), (select served_regenerate_functions() as "regenerate_functions")

select * from mbus4.readme()
----
select * from coalesce((select served_readme() as "readme")) as "readme"

# the constants that fit double precision and bigint
select mbus4.semaphore_enqueue('k', 9000000000, 1), mbus4.semaphore_enqueue('k', 1, -1.5e3)
----
with mbus4_call1_args(n, "key", "task_id", "priority") as (select 1::bigint, ('k')::pg_catalog.text, (9000000000)::bigint, (1)::double precision), mbus4_call1 as (select * from served), mbus4_call2_args(n, "key", "task_id", "priority") as (select 1::bigint, ('k')::pg_catalog.text, (1)::bigint, (-1.5e3)::double precision), mbus4_call2 as (select * from served) select (select "semaphore_enqueue" as "semaphore_enqueue" from mbus4_call1), (select "semaphore_enqueue" as "semaphore_enqueue" from mbus4_call2)

select mbus4.semaphore_enqueue('k', 1.5, 1)
----
error 42883 at "mbus4.semaph": function mbus4.semaphore_enqueue(unknown, numeric, integer) does not exist
  detail: Parameter task_id is of type bigint.
  hint: The function is mbus4.semaphore_enqueue(key text, task_id bigint, priority double precision) returns void.

select key from mbus4.semaphore_get_or_create('k')
----
with mbus4_call1_args(n, "key") as (select 1::bigint, ('k')::pg_catalog.text), mbus4_call1 as (select * from served) select key from pg_catalog.unnest(array[(select "semaphore_get_or_create" as "semaphore_get_or_create" from mbus4_call1)::mbus4.semaphore]) as "semaphore_get_or_create"

# a parameter of two types is cast to none, and a column that is called like the function is a column
select mbus4.retry($1, 'x', '5 min'), mbus4.retry(message => $2::mbus4.qt_model, cname => 'c')
----
select native_retry(($1), ('x')::pg_catalog.text, ('5 min')::pg_catalog.interval, null::pg_catalog.text) as "retry", native_retry(($2::mbus4.qt_model), null::pg_catalog.text, null::pg_catalog.interval, ('c')::pg_catalog.text) as "retry"

select iid, lease from mbus4.lease('q', lease => '5 min')
----
with mbus4_call1_args(n, "qname", "cname", "amt", "lease") as (select 1::bigint, ('q')::pg_catalog.text, 'default'::pg_catalog.text, '1'::integer, ('5 min')::pg_catalog.interval), mbus4_call1 as (select * from served) select iid, lease from (select (m.r).* from (select "lease" as r from mbus4_call1) m) as "lease"

select lease.* from mbus4.lease('q') as lease where lease is not null
----
with mbus4_call1_args(n, "qname", "cname", "amt", "lease") as (select 1::bigint, ('q')::pg_catalog.text, 'default'::pg_catalog.text, '1'::integer, null::pg_catalog.interval), mbus4_call1 as (select * from served) select lease.* from pg_catalog.unnest(array(select "lease" from mbus4_call1)) as lease where lease is not null

select mbus4.lease('q', lease => 30)
----
error 42883 at "mbus4.lease(": function mbus4.lease(unknown, lease => integer) does not exist
  detail: Parameter lease is of type interval.
  hint: The function is mbus4.lease(qname text, cname text default 'default', amt integer default '1', lease interval default null, wait interval default null) returns setof mbus4.leased.
