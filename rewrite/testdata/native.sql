# evaluated by the server itself, wherever a function may stand
select mbus4.create_temporary_queue(), mbus4.create_temporary_consumer('q'), mbus4.clear_tempq()
----
select native_create_temporary_queue() as "create_temporary_queue", native_create_temporary_consumer(('q')::pg_catalog.text, null::pg_catalog.text) as "create_temporary_consumer", native_clear_tempq() as "clear_tempq"

select * from mbus4.create_temporary_queue()
----
select * from coalesce(native_create_temporary_queue()) as "create_temporary_queue"

select q from mbus4.create_temporary_queue() as q
----
select q from coalesce(native_create_temporary_queue()) as q

select case when t.id > 1 then mbus4.create_temporary_consumer(t.name, null::varchar) end from t where mbus4.create_temporary_queue() is not null limit 2
----
select case when t.id > 1 then native_create_temporary_consumer((t.name)::pg_catalog.text, (null::varchar)::pg_catalog.text) end from t where native_create_temporary_queue() is not null limit 2

update t set name = mbus4.create_temporary_queue() where id = 1 returning name, mbus4.create_temporary_queue()
----
update t set name = native_create_temporary_queue() where id = 1 returning name, native_create_temporary_queue() as "create_temporary_queue"

insert into t values (mbus4.create_temporary_queue())
----
insert into t values (native_create_temporary_queue())

prepare p as select mbus4.create_temporary_queue()
----
prepare p as select native_create_temporary_queue() as "create_temporary_queue"

# nothing of ours is stored
create view v as select mbus4.create_temporary_queue()
----
error 0A000 at "mbus4.create": mbus4.create_temporary_queue cannot be called in a view
  hint: mbus4.create_view(qname, cname, viewname) makes a view over a queue that works without the proxy, too.

select x.* from t, lateral (select mbus4.create_temporary_consumer(t.name)) x
----
select x.* from t, lateral (select native_create_temporary_consumer((t.name)::pg_catalog.text, null::pg_catalog.text) as "create_temporary_consumer") x

# beside calls and in their arguments, once for each row
select mbus4.post_temp(mbus4.create_temporary_queue(), 'a=>1'), mbus4.create_temporary_queue() from t
----
with mbus4_rows1 as materialized (select pg_catalog.row_number() over () as n, s.* from (select null, native_create_temporary_queue(), (native_create_temporary_queue())::pg_catalog.text from t) as s(h1, h2, h3)), mbus4_call3_args(n, "qname", "data", "headers", "properties", "delayed_until", "expires", "iid") as (select mbus4_rows1.n, mbus4_rows1.h3, (row('a=>1')::mbus4_hstore.given).value, null::mbus4_hstore.hstore, null::mbus4_hstore.hstore, null::timestamp without time zone, null::timestamp without time zone, null::pg_catalog.text from mbus4_rows1), mbus4_call3 as (select * from served_rows) select mbus4_call3."post" as "post_temp", mbus4_rows1.h2 as "create_temporary_queue" from mbus4_rows1 left join mbus4_call3 on mbus4_call3.n = mbus4_rows1.n order by mbus4_rows1.n

select mbus4.post('q', '') || mbus4.create_temporary_queue() from t
----
with mbus4_rows1 as (select 1::bigint as n, s.* from (select null from t) as s(h1)), mbus4_call1_args(n, "qname", "data", "headers", "properties", "delayed_until", "expires", "iid") as (select mbus4_rows1.n, ('q')::pg_catalog.text, (row('')::mbus4_hstore.given).value, null::mbus4_hstore.hstore, null::mbus4_hstore.hstore, null::timestamp without time zone, null::timestamp without time zone, null::pg_catalog.text from mbus4_rows1), mbus4_call1 as (select * from served_rows) select mbus4_call1."post" || native_create_temporary_queue() as "?column?" from mbus4_call1

select mbus4.consume('q'), mbus4.create_temporary_queue()
----
with mbus4_call1_args(n, "qname", "cname") as (select 1::bigint, ('q')::pg_catalog.text, 'default'::pg_catalog.text), mbus4_call1 as (select * from served) select pg_catalog.unnest(array(select "consume" from mbus4_call1)) as "consume", native_create_temporary_queue() as "create_temporary_queue"

# what would be written twice, or evaluated once for a set
select mbus4.consume('q'), mbus4.create_temporary_queue() from t
----
select at_consume(('q')::pg_catalog.text, 'default'::pg_catalog.text, 1) as "consume", native_create_temporary_queue() as "create_temporary_queue" from t

select * from mbus4.consume('q') where mbus4.create_temporary_queue() <> ''
----
select * from at_consume(('q')::pg_catalog.text, 'default'::pg_catalog.text, 1) as "consume" where native_create_temporary_queue() <> ''

select * from mbus4.consume('q') limit length(mbus4.create_temporary_queue())
----
select * from at_consume(('q')::pg_catalog.text, 'default'::pg_catalog.text, 1) as "consume" limit length(native_create_temporary_queue())

select mbus4.is_msg_exists(mbus4.create_temporary_queue())
----
select at_is_msg_exists((native_create_temporary_queue())::pg_catalog.text, 1) as "is_msg_exists"

select * from t where mbus4.estimated_messages(mbus4.create_temporary_queue()) > 0
----
select * from t where at_estimated_messages((native_create_temporary_queue())::pg_catalog.text, 1) > 0
