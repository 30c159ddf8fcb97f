with m as (select * from mbus4.consume('q')) select data from m
----
with mbus4_call1_args(n, "qname", "cname") as (select 1::bigint, ('q')::pg_catalog.text, 'default'::pg_catalog.text), mbus4_call1 as (select * from served), m as (select * from (select (m.r).* from (select "consume" as r from mbus4_call1) m) as "consume") select data from m

# behind the queries the call may refer to
with a as (select 'q' as q), b as (select 1) select mbus4.post((select q from a), 'x=>1')
----
with a as (select 'q' as q), b as (select 1), mbus4_call1_args(n, "qname", "data", "headers", "properties", "delayed_until", "expires", "iid") as (select 1::bigint, ((select q from a))::pg_catalog.text, (row('x=>1')::mbus4_hstore.given).value, null::mbus4_hstore.hstore, null::mbus4_hstore.hstore, null::timestamp without time zone, null::timestamp without time zone, null::pg_catalog.text), mbus4_call1 as (select * from served) select (select "post" as "post" from mbus4_call1)

# before the query that holds the call
with a as (select 'q' as q), b (x) as materialized (select mbus4.post((select q from a), '')), c as (select 1) select * from b, c
----
with a as (select 'q' as q), mbus4_call1_args(n, "qname", "data", "headers", "properties", "delayed_until", "expires", "iid") as (select 1::bigint, ((select q from a))::pg_catalog.text, (row('')::mbus4_hstore.given).value, null::mbus4_hstore.hstore, null::mbus4_hstore.hstore, null::timestamp without time zone, null::timestamp without time zone, null::pg_catalog.text), mbus4_call1 as (select * from served), b (x) as materialized (select "post" as "post" from mbus4_call1), c as (select 1) select * from b, c

# queries that change data always run
with l as (insert into log values (mbus4.post('q', 'a=>1')) returning *) select 1
----
with mbus4_call1_args(n, "qname", "data", "headers", "properties", "delayed_until", "expires", "iid") as (select 1::bigint, ('q')::pg_catalog.text, (row('a=>1')::mbus4_hstore.given).value, null::mbus4_hstore.hstore, null::mbus4_hstore.hstore, null::timestamp without time zone, null::timestamp without time zone, null::pg_catalog.text), mbus4_call1 as (select * from served), l as (insert into log values ((select "post" as "post" from mbus4_call1)) returning *) select 1

with recursive r as (select 1 as n union all select n + 1 from r where n < 3), m as (select * from mbus4.consumen('q', amt => 3)) select * from r, m
----
with recursive r as (select 1 as n union all select n + 1 from r where n < 3), mbus4_call1_args(n, "qname", "cname", "amt") as (select 1::bigint, ('q')::pg_catalog.text, 'default'::pg_catalog.text, (3)::integer), mbus4_call1 as (select * from served), m as (select * from (select (m.r).* from (select "consumen" as r from mbus4_call1) m) as "consumen") select * from r, m

# what holds for the statement holds for a query that only it refers to
with m as (select * from mbus4.consume('q')) select * from m limit 0
----
with mbus4_call1_args(n, "qname", "cname") as (select 1::bigint, ('q')::pg_catalog.text, 'default'::pg_catalog.text where false), mbus4_call1 as (select * from served), m as (select * from (select (m.r).* from (select "consume" as r from mbus4_call1) m) as "consume") select * from m limit 0

with m as (select * from mbus4.consume('q')), n as (select * from m) select * from n limit 0
----
with mbus4_call1_args(n, "qname", "cname") as (select 1::bigint, ('q')::pg_catalog.text, 'default'::pg_catalog.text where false), mbus4_call1 as (select * from served), m as (select * from (select (m.r).* from (select "consume" as r from mbus4_call1) m) as "consume"), n as (select * from m) select * from n limit 0

# nested with INSERT
with m as (select * from mbus4.consume('q')) insert into t select id from m
----
with mbus4_call1_args(n, "qname", "cname") as (select 1::bigint, ('q')::pg_catalog.text, 'default'::pg_catalog.text), mbus4_call1 as (select * from served), m as (select * from (select (m.r).* from (select "consume" as r from mbus4_call1) m) as "consume") insert into t select id from m
