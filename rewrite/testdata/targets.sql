select mbus4.post('q', 'a=>1')
----
with mbus4_call1_args(n, "qname", "data", "headers", "properties", "delayed_until", "expires", "iid") as (select 1::bigint, ('q')::pg_catalog.text, (row('a=>1')::mbus4_hstore.given).value, null::mbus4_hstore.hstore, null::mbus4_hstore.hstore, null::timestamp without time zone, null::timestamp without time zone, null::pg_catalog.text), mbus4_call1 as (select * from served) select "post" as "post" from mbus4_call1

select mbus4.post_q($1, delayed_until => now()::timestamp + '1h') as iid;
----
with mbus4_call1_args(n, "qname", "data", "headers", "properties", "delayed_until", "expires", "iid") as (select 1::bigint, ('q')::pg_catalog.text, (row($1)::mbus4_hstore.given).value, null::mbus4_hstore.hstore, null::mbus4_hstore.hstore, (now()::timestamp + '1h')::timestamp without time zone, null::timestamp without time zone, null::pg_catalog.text), mbus4_call1 as (select * from served) select (select "post" as "post_q" from mbus4_call1) as iid;

# the column keeps its name through casts
select mbus4.consume('q')::text, mbus4.post('q', '')::varchar, (mbus4.consume('q'))
----
with mbus4_call1_args(n, "qname", "cname") as (select 1::bigint, ('q')::pg_catalog.text, 'default'::pg_catalog.text), mbus4_call1 as (select * from served), mbus4_call2_args(n, "qname", "data", "headers", "properties", "delayed_until", "expires", "iid") as (select 1::bigint, ('q')::pg_catalog.text, (row('')::mbus4_hstore.given).value, null::mbus4_hstore.hstore, null::mbus4_hstore.hstore, null::timestamp without time zone, null::timestamp without time zone, null::pg_catalog.text), mbus4_call2 as (select * from served), mbus4_call3_args(n, "qname", "cname") as (select 1::bigint, ('q')::pg_catalog.text, 'default'::pg_catalog.text), mbus4_call3 as (select * from served) select pg_catalog.unnest(array(select "consume" from mbus4_call1))::text as "consume", (select "post" as "post" from mbus4_call2)::varchar, (pg_catalog.unnest(array(select "consume" from mbus4_call3))) as "consume"

select (mbus4.consume('q')).*
----
with mbus4_call1_args(n, "qname", "cname") as (select 1::bigint, ('q')::pg_catalog.text, 'default'::pg_catalog.text), mbus4_call1 as (select * from served) select (pg_catalog.unnest(array(select "consume" from mbus4_call1))).*

select (mbus4.consume('q')).data->'x' as x, upper(mbus4.post('q', ''))
----
with mbus4_call1_args(n, "qname", "cname") as (select 1::bigint, ('q')::pg_catalog.text, 'default'::pg_catalog.text), mbus4_call1 as (select * from served), mbus4_call2_args(n, "qname", "data", "headers", "properties", "delayed_until", "expires", "iid") as (select 1::bigint, ('q')::pg_catalog.text, (row('')::mbus4_hstore.given).value, null::mbus4_hstore.hstore, null::mbus4_hstore.hstore, null::timestamp without time zone, null::timestamp without time zone, null::pg_catalog.text), mbus4_call2 as (select * from served) select (pg_catalog.unnest(array(select "consume" from mbus4_call1))).data->'x' as x, upper((select "post" as "post" from mbus4_call2))

# nested: the outer call is a set when the inner one is
select mbus4.post('b', (mbus4.consume('a')).data)
----
with mbus4_call1_args(n, "qname", "cname") as (select 1::bigint, ('a')::pg_catalog.text, 'default'::pg_catalog.text), mbus4_call1 as (select * from served), mbus4_call2_args(n, "qname", "data", "headers", "properties", "delayed_until", "expires", "iid") as (select 1::bigint, ('b')::pg_catalog.text, ((pg_catalog.unnest(array(select "consume" from mbus4_call1))).data)::mbus4_hstore.hstore, null::mbus4_hstore.hstore, null::mbus4_hstore.hstore, null::timestamp without time zone, null::timestamp without time zone, null::pg_catalog.text), mbus4_call2 as (select * from served_rows) select "post" as "post" from mbus4_call2 as "post"

select mbus4.post('b', (mbus4.take($1)).data, iid => $1)
----
with mbus4_call1_args(n, "msgid") as (select 1::bigint, ($1)::pg_catalog.text), mbus4_call1 as (select * from served), mbus4_call2_args(n, "qname", "data", "headers", "properties", "delayed_until", "expires", "iid") as (select 1::bigint, ('b')::pg_catalog.text, (((select "take" as "take" from mbus4_call1)::mbus4.qt_model).data)::mbus4_hstore.hstore, null::mbus4_hstore.hstore, null::mbus4_hstore.hstore, null::timestamp without time zone, null::timestamp without time zone, ($1)::pg_catalog.text), mbus4_call2 as (select * from served) select "post" as "post" from mbus4_call2

# calls without effect stand where they stood
select mbus4.is_msg_exists($1), mbus4.peek_q(), mbus4.generate_new_msgiid('q'), mbus4.get_iid('q') || 'x'
----
select (select served_is_msg_exists(($1)::pg_catalog.text) as "is_msg_exists"), (select served_peek_queue(null::pg_catalog.text) as "peek_q"), (drawn_for(('q')::pg_catalog.text)) as "generate_new_msgiid", (drawn_for(('q')::pg_catalog.text)) || 'x'

select case when mbus4.is_msg_exists(t.iid) then 1 end from t where mbus4.peek_q(t.iid) order by mbus4.is_msg_exists(t.iid)
----
select case when (select served_is_msg_exists((t.iid)::pg_catalog.text) as "is_msg_exists") then 1 end from t where (select served_peek_queue((t.iid)::pg_catalog.text) as "peek_q") order by (select served_is_msg_exists((t.iid)::pg_catalog.text) as "is_msg_exists")

insert into t values (1) returning mbus4.is_msg_exists(iid), mbus4.get_iid('q')
----
insert into t values (1) returning (select served_is_msg_exists((iid)::pg_catalog.text) as "is_msg_exists"), (drawn_for(('q')::pg_catalog.text)) as "get_iid"

# subqueries that are evaluated exactly once
select (select data from mbus4.consume('q')), array(select mbus4.consume('q')), exists (select from mbus4.consume('q'))
----
with mbus4_call1_args(n, "qname", "cname") as (select 1::bigint, ('q')::pg_catalog.text, 'default'::pg_catalog.text), mbus4_call1 as (select * from served), mbus4_call2_args(n, "qname", "cname") as (select 1::bigint, ('q')::pg_catalog.text, 'default'::pg_catalog.text), mbus4_call2 as (select * from served), mbus4_call3_args(n, "qname", "cname") as (select 1::bigint, ('q')::pg_catalog.text, 'default'::pg_catalog.text), mbus4_call3 as (select * from served) select (select data from (select (m.r).* from (select "consume" as r from mbus4_call1) m) as "consume"), array(select pg_catalog.unnest(array(select "consume" from mbus4_call2)) as "consume"), exists (select from (select (m.r).* from (select "consume" as r from mbus4_call3) m) as "consume")

select coalesce(mbus4.post('q', ''), 'x'), array[mbus4.post('q', '')], row(mbus4.take('x'))
----
with mbus4_call1_args(n, "qname", "data", "headers", "properties", "delayed_until", "expires", "iid") as (select 1::bigint, ('q')::pg_catalog.text, (row('')::mbus4_hstore.given).value, null::mbus4_hstore.hstore, null::mbus4_hstore.hstore, null::timestamp without time zone, null::timestamp without time zone, null::pg_catalog.text), mbus4_call1 as (select * from served), mbus4_call2_args(n, "qname", "data", "headers", "properties", "delayed_until", "expires", "iid") as (select 1::bigint, ('q')::pg_catalog.text, (row('')::mbus4_hstore.given).value, null::mbus4_hstore.hstore, null::mbus4_hstore.hstore, null::timestamp without time zone, null::timestamp without time zone, null::pg_catalog.text), mbus4_call2 as (select * from served), mbus4_call3_args(n, "msgid") as (select 1::bigint, ('x')::pg_catalog.text), mbus4_call3 as (select * from served) select coalesce((select "post" as "post" from mbus4_call1), 'x'), array[(select "post" as "post" from mbus4_call2)], row((select "take" as "take" from mbus4_call3)::mbus4.qt_model)

# void results
select mbus4.create_queue('q', consumers_cnt => 4), mbus4.drop_queue('q')
----
with mbus4_call1_args(n, "qname", "ncons") as (select 1::bigint, ('q')::pg_catalog.text, (4)::integer), mbus4_call1 as (select * from served), mbus4_call2_args(n, "qname") as (select 1::bigint, ('q')::pg_catalog.text), mbus4_call2 as (select * from served) select (select "create_queue" as "create_queue" from mbus4_call1), (select "drop_queue" as "drop_queue" from mbus4_call2)

select mbus4.create_consumer('q', 'c', p_selector => null), mbus4.drop_consumer('q', 'c')
----
with mbus4_call1_args(n, "qname", "cname", "selector", "noindex") as (select 1::bigint, ('q')::pg_catalog.text, ('c')::pg_catalog.text, (null)::pg_catalog.text, 'false'::boolean), mbus4_call1 as (select * from served), mbus4_call2_args(n, "qname", "cname") as (select 1::bigint, ('q')::pg_catalog.text, ('c')::pg_catalog.text), mbus4_call2 as (select * from served) select (select "create_consumer" as "create_consumer" from mbus4_call1), (select "drop_consumer" as "drop_consumer" from mbus4_call2)
