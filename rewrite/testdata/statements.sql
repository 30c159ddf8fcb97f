values (mbus4.post('q', 'v=>1')), (mbus4.post('q', 'v=>2'))
----
with mbus4_call1_args(n, "qname", "data", "headers", "properties", "delayed_until", "expires", "iid") as (select 1::bigint, ('q')::pg_catalog.text, (row('v=>1')::mbus4_hstore.given).value, null::mbus4_hstore.hstore, null::mbus4_hstore.hstore, null::timestamp without time zone, null::timestamp without time zone, null::pg_catalog.text), mbus4_call1 as (select * from served), mbus4_call2_args(n, "qname", "data", "headers", "properties", "delayed_until", "expires", "iid") as (select 1::bigint, ('q')::pg_catalog.text, (row('v=>2')::mbus4_hstore.given).value, null::mbus4_hstore.hstore, null::mbus4_hstore.hstore, null::timestamp without time zone, null::timestamp without time zone, null::pg_catalog.text), mbus4_call2 as (select * from served) values ((select "post" as "post" from mbus4_call1)), ((select "post" as "post" from mbus4_call2))

insert into t (iid) values (mbus4.post('q', 'v=>1')), ('x') on conflict do nothing returning iid
----
with mbus4_call1_args(n, "qname", "data", "headers", "properties", "delayed_until", "expires", "iid") as (select 1::bigint, ('q')::pg_catalog.text, (row('v=>1')::mbus4_hstore.given).value, null::mbus4_hstore.hstore, null::mbus4_hstore.hstore, null::timestamp without time zone, null::timestamp without time zone, null::pg_catalog.text), mbus4_call1 as (select * from served) insert into t (iid) values ((select "post" as "post" from mbus4_call1)), ('x') on conflict do nothing returning iid

insert into t select m.* from mbus4.consume('q') m
----
with mbus4_call1_args(n, "qname", "cname") as (select 1::bigint, ('q')::pg_catalog.text, 'default'::pg_catalog.text), mbus4_call1 as (select * from served) insert into t select m.* from (select (m.r).* from (select "consume" as r from mbus4_call1) m) m

# several statements; those without calls keep their text
begin; select 1; select mbus4.post('q', 'a=>1'); insert into t values (1) ; commit
----
begin; select 1; with mbus4_call1_args(n, "qname", "data", "headers", "properties", "delayed_until", "expires", "iid") as (select 1::bigint, ('q')::pg_catalog.text, (row('a=>1')::mbus4_hstore.given).value, null::mbus4_hstore.hstore, null::mbus4_hstore.hstore, null::timestamp without time zone, null::timestamp without time zone, null::pg_catalog.text), mbus4_call1 as (select * from served) select "post" as "post" from mbus4_call1; insert into t values (1) ; commit

# one refused statement does not keep the others from being served
select mbus4.post('q', ''); select 1 where mbus4.post('q', '') is null; select 2
----
with mbus4_call1_args(n, "qname", "data", "headers", "properties", "delayed_until", "expires", "iid") as (select 1::bigint, ('q')::pg_catalog.text, (row('')::mbus4_hstore.given).value, null::mbus4_hstore.hstore, null::mbus4_hstore.hstore, null::timestamp without time zone, null::timestamp without time zone, null::pg_catalog.text), mbus4_call1 as (select * from served) select "post" as "post" from mbus4_call1; select 1 where at_post(('q')::pg_catalog.text, (row('')::mbus4_hstore.given).value, null::mbus4_hstore.hstore, null::mbus4_hstore.hstore, null::timestamp without time zone, null::timestamp without time zone, null::pg_catalog.text, 2) is null; select 2

prepare p (text) as select * from mbus4.consume($1)
----
prepare p (text) as with mbus4_call1_args(n, "qname", "cname") as (select 1::bigint, ($1)::pg_catalog.text, 'default'::pg_catalog.text), mbus4_call1 as (select * from served) select * from (select (m.r).* from (select "consume" as r from mbus4_call1) m) as "consume"

explain (analyze, verbose) select mbus4.post('q', '')
----
explain (analyze, verbose) with mbus4_call1_args(n, "qname", "data", "headers", "properties", "delayed_until", "expires", "iid") as (select 1::bigint, ('q')::pg_catalog.text, (row('')::mbus4_hstore.given).value, null::mbus4_hstore.hstore, null::mbus4_hstore.hstore, null::timestamp without time zone, null::timestamp without time zone, null::pg_catalog.text), mbus4_call1 as (select * from served) select "post" as "post" from mbus4_call1

explain analyze verbose with x as (select 1) select * from x, mbus4.consume('q')
----
explain analyze verbose with x as (select 1), mbus4_call1_args(n, "qname", "cname") as (select 1::bigint, ('q')::pg_catalog.text, 'default'::pg_catalog.text), mbus4_call1 as (select * from served) select * from x, pg_catalog.unnest(array(select "consume" from mbus4_call1)) as "consume"

copy (select iid from mbus4.consume('q')) to stdout
----
copy (with mbus4_call1_args(n, "qname", "cname") as (select 1::bigint, ('q')::pg_catalog.text, 'default'::pg_catalog.text), mbus4_call1 as (select * from served) select iid from (select (m.r).* from (select "consume" as r from mbus4_call1) m) as "consume") to stdout

create table t2 (iid) as select iid from mbus4.consume('q') with no data
----
create table t2 (iid) as with mbus4_call1_args(n, "qname", "cname") as (select 1::bigint, ('q')::pg_catalog.text, 'default'::pg_catalog.text), mbus4_call1 as (select * from served) select iid from (select (m.r).* from (select "consume" as r from mbus4_call1) m) as "consume" with no data

select iid into t3 from mbus4.consume('q')
----
with mbus4_call1_args(n, "qname", "cname") as (select 1::bigint, ('q')::pg_catalog.text, 'default'::pg_catalog.text), mbus4_call1 as (select * from served) select iid into t3 from pg_catalog.unnest(array(select "consume" from mbus4_call1)) as "consume"

# parentheses
(select mbus4.post('q', ''))
----
with mbus4_call1_args(n, "qname", "data", "headers", "properties", "delayed_until", "expires", "iid") as (select 1::bigint, ('q')::pg_catalog.text, (row('')::mbus4_hstore.given).value, null::mbus4_hstore.hstore, null::mbus4_hstore.hstore, null::timestamp without time zone, null::timestamp without time zone, null::pg_catalog.text), mbus4_call1 as (select * from served) (select "post" as "post" from mbus4_call1)

((select * from mbus4.consume('q')))
----
with mbus4_call1_args(n, "qname", "cname") as (select 1::bigint, ('q')::pg_catalog.text, 'default'::pg_catalog.text), mbus4_call1 as (select * from served) ((select * from (select (m.r).* from (select "consume" as r from mbus4_call1) m) as "consume"))

# names of ours give way to the client's
select 1 as mbus4_x, mbus4.post('q', '')
----
with mbus4x1_call1_args(n, "qname", "data", "headers", "properties", "delayed_until", "expires", "iid") as (select 1::bigint, ('q')::pg_catalog.text, (row('')::mbus4_hstore.given).value, null::mbus4_hstore.hstore, null::mbus4_hstore.hstore, null::timestamp without time zone, null::timestamp without time zone, null::pg_catalog.text), mbus4x1_call1 as (select * from served) select 1 as mbus4_x, (select "post" as "post" from mbus4x1_call1)

# comments and hints stay
/*+ SeqScan(t) */ select /* a */ mbus4.post( /* b */ 'q' /* c */ , 'a=>1' -- d
) -- e
----
/*+ SeqScan(t) */ with mbus4_call1_args(n, "qname", "data", "headers", "properties", "delayed_until", "expires", "iid") as (select 1::bigint, ('q')::pg_catalog.text, (row('a=>1')::mbus4_hstore.given).value, null::mbus4_hstore.hstore, null::mbus4_hstore.hstore, null::timestamp without time zone, null::timestamp without time zone, null::pg_catalog.text), mbus4_call1 as (select * from served) select /* a */ "post" as "post" from mbus4_call1 -- e

# strings of all kinds
select mbus4.post(E'q\'', $$a=>"x', mbus4.post("$$, U&'\0061=>1', $x$ "; $x$)
----
with mbus4_call1_args(n, "qname", "data", "headers", "properties", "delayed_until", "expires", "iid") as (select 1::bigint, (E'q\'')::pg_catalog.text, (row($$a=>"x', mbus4.post("$$)::mbus4_hstore.given).value, (row(U&'\0061=>1')::mbus4_hstore.given).value, (row($x$ "; $x$)::mbus4_hstore.given).value, null::timestamp without time zone, null::timestamp without time zone, null::pg_catalog.text), mbus4_call1 as (select * from served) select "post" as "post" from mbus4_call1

# multibyte text
select 'Ünïcödé ☃', mbus4.post('q', 'ключ=>"значение"')
----
with mbus4_call1_args(n, "qname", "data", "headers", "properties", "delayed_until", "expires", "iid") as (select 1::bigint, ('q')::pg_catalog.text, (row('ключ=>"значение"')::mbus4_hstore.given).value, null::mbus4_hstore.hstore, null::mbus4_hstore.hstore, null::timestamp without time zone, null::timestamp without time zone, null::pg_catalog.text), mbus4_call1 as (select * from served) select 'Ünïcödé ☃', (select "post" as "post" from mbus4_call1)

# what stands behind the query stays there
create table a as select mbus4.consume('q') with data
----
create table a as with mbus4_call1_args(n, "qname", "cname") as (select 1::bigint, ('q')::pg_catalog.text, 'default'::pg_catalog.text), mbus4_call1 as (select * from served) select pg_catalog.unnest(array(select "consume" from mbus4_call1)) as "consume" with data

insert into t select mbus4.consume('q') on conflict do nothing
----
with mbus4_call1_args(n, "qname", "cname") as (select 1::bigint, ('q')::pg_catalog.text, 'default'::pg_catalog.text), mbus4_call1 as (select * from served) insert into t select pg_catalog.unnest(array(select "consume" from mbus4_call1)) as "consume" on conflict do nothing

create view v as select mbus4.get_iid('q') is json object with unique keys, mbus4.create_temporary_queue()::text with local check option
----
error 0A000 at "mbus4.get_ii": mbus4.get_iid cannot be called in a view
  hint: mbus4.create_view(qname, cname, viewname) makes a view over a queue that works without the proxy, too.

select mbus4.get_iid('q')::timestamp with time zone
----
select (drawn_for(('q')::pg_catalog.text))::timestamp with time zone as "get_iid"
