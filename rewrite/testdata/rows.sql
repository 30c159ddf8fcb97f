# once for each row
select mbus4.take(x) from unnest($1::text[]) x
----
with mbus4_rows1 as (select pg_catalog.row_number() over () as n, s.* from (select null, (x)::pg_catalog.text from unnest($1::text[]) x) as s(h1, h2)), mbus4_call1_args(n, "msgid") as (select mbus4_rows1.n, mbus4_rows1.h2 from mbus4_rows1), mbus4_call1 as (select * from served_rows) select mbus4_call1."take" as "take" from mbus4_call1 order by mbus4_call1.n

select t.id, mbus4.post('q', hstore('id', t.id::text), iid => 'i' || t.id) as iid, lower(name)
from t where id < 10 order by id desc limit 5
----
with mbus4_rows1 as materialized (select pg_catalog.row_number() over () as n, s.* from (select t.id, null, lower(name), (hstore('id', t.id::text))::mbus4_hstore.hstore, ('i' || t.id)::pg_catalog.text
from t where id < 10 order by id desc limit 5) as s(h1, h2, h3, h4, h5)), mbus4_call1_args(n, "qname", "data", "headers", "properties", "delayed_until", "expires", "iid") as (select mbus4_rows1.n, ('q')::pg_catalog.text, mbus4_rows1.h4, null::mbus4_hstore.hstore, null::mbus4_hstore.hstore, null::timestamp without time zone, null::timestamp without time zone, mbus4_rows1.h5 from mbus4_rows1), mbus4_call1 as (select * from served_rows) select mbus4_rows1.h1 as "id", mbus4_call1."post" as iid, mbus4_rows1.h3 as "lower" from mbus4_rows1 left join mbus4_call1 on mbus4_call1.n = mbus4_rows1.n order by mbus4_rows1.n

# FROM or WHERE alone make it conditional
select mbus4.post('q', 'a=>1') where $1
----
with mbus4_rows1 as (select 1::bigint as n, s.* from (select null where $1) as s(h1)), mbus4_call1_args(n, "qname", "data", "headers", "properties", "delayed_until", "expires", "iid") as (select mbus4_rows1.n, ('q')::pg_catalog.text, (row('a=>1')::mbus4_hstore.given).value, null::mbus4_hstore.hstore, null::mbus4_hstore.hstore, null::timestamp without time zone, null::timestamp without time zone, null::pg_catalog.text from mbus4_rows1), mbus4_call1 as (select * from served_rows) select mbus4_call1."post" as "post" from mbus4_call1

# forwarding what was consumed
select mbus4.post('b', m.data, m.headers) from mbus4.consume('a') m
----
with mbus4_call1_args(n, "qname", "cname") as (select 1::bigint, ('a')::pg_catalog.text, 'default'::pg_catalog.text), mbus4_call1 as (select * from served), mbus4_rows1 as (select 1::bigint as n, s.* from (select null, (m.data)::mbus4_hstore.hstore, (m.headers)::mbus4_hstore.hstore from pg_catalog.unnest(array(select "consume" from mbus4_call1)) m) as s(h1, h2, h3)), mbus4_call2_args(n, "qname", "data", "headers", "properties", "delayed_until", "expires", "iid") as (select mbus4_rows1.n, ('b')::pg_catalog.text, mbus4_rows1.h2, mbus4_rows1.h3, null::mbus4_hstore.hstore, null::timestamp without time zone, null::timestamp without time zone, null::pg_catalog.text from mbus4_rows1), mbus4_call2 as (select * from served_rows) select mbus4_call2."post" as "post" from mbus4_call2

# columns around the call
select mbus4.post('q', hstore(t)) || '-' || t.name || t.name as k from t
----
with mbus4_rows1 as materialized (select pg_catalog.row_number() over () as n, s.* from (select null, (hstore(t))::mbus4_hstore.hstore, t.name from t) as s(h1, h2, h3)), mbus4_call1_args(n, "qname", "data", "headers", "properties", "delayed_until", "expires", "iid") as (select mbus4_rows1.n, ('q')::pg_catalog.text, mbus4_rows1.h2, null::mbus4_hstore.hstore, null::mbus4_hstore.hstore, null::timestamp without time zone, null::timestamp without time zone, null::pg_catalog.text from mbus4_rows1), mbus4_call1 as (select * from served_rows) select mbus4_call1."post" || '-' || mbus4_rows1.h3 || mbus4_rows1.h3 as k from mbus4_rows1 left join mbus4_call1 on mbus4_call1.n = mbus4_rows1.n order by mbus4_rows1.n

# rows as a whole
select *, t.*, mbus4.post('q', hstore(t)) from t
----
with mbus4_rows1 as materialized (select pg_catalog.row_number() over () as n, s.* from (select "t", t, null, (hstore(t))::mbus4_hstore.hstore from t) as s(h1, h2, h3, h4)), mbus4_call1_args(n, "qname", "data", "headers", "properties", "delayed_until", "expires", "iid") as (select mbus4_rows1.n, ('q')::pg_catalog.text, mbus4_rows1.h4, null::mbus4_hstore.hstore, null::mbus4_hstore.hstore, null::timestamp without time zone, null::timestamp without time zone, null::pg_catalog.text from mbus4_rows1), mbus4_call1 as (select * from served_rows) select (mbus4_rows1.h1).*, (mbus4_rows1.h2).*, mbus4_call1."post" as "post" from mbus4_rows1 left join mbus4_call1 on mbus4_call1.n = mbus4_rows1.n order by mbus4_rows1.n

select (mbus4.take(x)).*, (mbus4.take(x)).data from unnest($1::text[]) x
----
with mbus4_rows1 as materialized (select pg_catalog.row_number() over () as n, s.* from (select null, null, (x)::pg_catalog.text, (x)::pg_catalog.text from unnest($1::text[]) x) as s(h1, h2, h3, h4)), mbus4_call1_args(n, "msgid") as (select mbus4_rows1.n, mbus4_rows1.h3 from mbus4_rows1), mbus4_call1 as (select * from served_rows), mbus4_call2_args(n, "msgid") as (select mbus4_rows1.n, mbus4_rows1.h4 from mbus4_rows1), mbus4_call2 as (select * from served_rows) select (mbus4_call1."take").*, (mbus4_call2."take").data as "data" from mbus4_rows1 left join mbus4_call1 on mbus4_call1.n = mbus4_rows1.n left join mbus4_call2 on mbus4_call2.n = mbus4_rows1.n order by mbus4_rows1.n

# nested calls
select mbus4.post('b', (mbus4.take(t.iid)).data, properties => t.p) from t
----
with mbus4_rows1 as materialized (select pg_catalog.row_number() over () as n, s.* from (select null, (t.iid)::pg_catalog.text, (t.p)::mbus4_hstore.hstore from t) as s(h1, h2, h3)), mbus4_call1_args(n, "msgid") as (select mbus4_rows1.n, mbus4_rows1.h2 from mbus4_rows1), mbus4_call1 as (select * from served_rows), mbus4_call2_args(n, "qname", "data", "headers", "properties", "delayed_until", "expires", "iid") as (select mbus4_rows1.n, ('b')::pg_catalog.text, ((mbus4_call1."take").data)::mbus4_hstore.hstore, null::mbus4_hstore.hstore, mbus4_rows1.h3, null::timestamp without time zone, null::timestamp without time zone, null::pg_catalog.text from mbus4_rows1 left join mbus4_call1 on mbus4_call1.n = mbus4_rows1.n), mbus4_call2 as (select * from served_rows) select mbus4_call2."post" as "post" from mbus4_rows1 left join mbus4_call1 on mbus4_call1.n = mbus4_rows1.n left join mbus4_call2 on mbus4_call2.n = mbus4_rows1.n order by mbus4_rows1.n

# sets
select q.name, mbus4.consume(q.name) from queues q order by q.name
----
with mbus4_rows1 as materialized (select pg_catalog.row_number() over () as n, s.* from (select q.name, null, (q.name)::pg_catalog.text from queues q order by q.name) as s(h1, h2, h3)), mbus4_call1_args(n, "qname", "cname") as (select mbus4_rows1.n, mbus4_rows1.h3, 'default'::pg_catalog.text from mbus4_rows1), mbus4_call1 as (select * from served_rows) select mbus4_rows1.h1 as "name", mbus4_call1."consume" as "consume" from mbus4_rows1 join mbus4_call1 on mbus4_call1.n = mbus4_rows1.n order by mbus4_rows1.n, mbus4_call1.o

select q.name, (mbus4.consumen(q.name, amt => q.n)).* from queues q
----
with mbus4_rows1 as materialized (select pg_catalog.row_number() over () as n, s.* from (select q.name, null, (q.name)::pg_catalog.text, (q.n)::integer from queues q) as s(h1, h2, h3, h4)), mbus4_call1_args(n, "qname", "cname", "amt") as (select mbus4_rows1.n, mbus4_rows1.h3, 'default'::pg_catalog.text, mbus4_rows1.h4 from mbus4_rows1), mbus4_call1 as (select * from served_rows) select mbus4_rows1.h1 as "name", (mbus4_call1."consumen").* from mbus4_rows1 join mbus4_call1 on mbus4_call1.n = mbus4_rows1.n order by mbus4_rows1.n, mbus4_call1.o

# grouped rows
select name, count(*), mbus4.post('q', hstore('n', count(*)::text)) from t group by name having count(*) > 1 order by 2
----
with mbus4_rows1 as materialized (select pg_catalog.row_number() over () as n, s.* from (select name, count(*), null, (hstore('n', count(*)::text))::mbus4_hstore.hstore from t group by name having count(*) > 1 order by 2) as s(h1, h2, h3, h4)), mbus4_call1_args(n, "qname", "data", "headers", "properties", "delayed_until", "expires", "iid") as (select mbus4_rows1.n, ('q')::pg_catalog.text, mbus4_rows1.h4, null::mbus4_hstore.hstore, null::mbus4_hstore.hstore, null::timestamp without time zone, null::timestamp without time zone, null::pg_catalog.text from mbus4_rows1), mbus4_call1 as (select * from served_rows) select mbus4_rows1.h1 as "name", mbus4_rows1.h2 as "count", mbus4_call1."post" as "post" from mbus4_rows1 left join mbus4_call1 on mbus4_call1.n = mbus4_rows1.n order by mbus4_rows1.n

# constants keep their type open
insert into log (n, iid) select '7', mbus4.post('q', hstore(t)) from t where true on conflict do nothing returning n
----
with mbus4_rows1 as (select 1::bigint as n, s.* from (select '7', null, (hstore(t))::mbus4_hstore.hstore from t where true) as s(h1, h2, h3)), mbus4_call1_args(n, "qname", "data", "headers", "properties", "delayed_until", "expires", "iid") as (select mbus4_rows1.n, ('q')::pg_catalog.text, mbus4_rows1.h3, null::mbus4_hstore.hstore, null::mbus4_hstore.hstore, null::timestamp without time zone, null::timestamp without time zone, null::pg_catalog.text from mbus4_rows1), mbus4_call1 as (select * from served_rows) insert into log (n, iid) select '7', mbus4_call1."post" as "post" from mbus4_call1 on conflict do nothing returning n

# names of columns
select t.a, t.b::int, -t.c, 1 + 2, case when a then b end, (t.r).f, array[a], x[1], "Ab", a is null, mbus4.post('q', '') from t
----
with mbus4_rows1 as materialized (select pg_catalog.row_number() over () as n, s.* from (select t.a, t.b::int, -t.c, 1 + 2, case when a then b end, (t.r).f, array[a], x[1], "Ab", a is null, null from t) as s(h1, h2, h3, h4, h5, h6, h7, h8, h9, h10, h11)), mbus4_call1_args(n, "qname", "data", "headers", "properties", "delayed_until", "expires", "iid") as (select mbus4_rows1.n, ('q')::pg_catalog.text, (row('')::mbus4_hstore.given).value, null::mbus4_hstore.hstore, null::mbus4_hstore.hstore, null::timestamp without time zone, null::timestamp without time zone, null::pg_catalog.text from mbus4_rows1), mbus4_call1 as (select * from served_rows) select mbus4_rows1.h1 as "a", mbus4_rows1.h2 as "b", mbus4_rows1.h3 as "?column?", mbus4_rows1.h4 as "?column?", mbus4_rows1.h5 as "case", mbus4_rows1.h6 as "f", mbus4_rows1.h7 as "array", mbus4_rows1.h8 as "x", mbus4_rows1.h9 as "Ab", mbus4_rows1.h10 as "?column?", mbus4_call1."post" as "post" from mbus4_rows1 left join mbus4_call1 on mbus4_call1.n = mbus4_rows1.n order by mbus4_rows1.n

# in a WITH query
with p as (select id, mbus4.post('q', hstore(t)) as iid from t) update t set iid = p.iid from p where p.id = t.id
----
with mbus4_rows1 as materialized (select pg_catalog.row_number() over () as n, s.* from (select id, null, (hstore(t))::mbus4_hstore.hstore from t) as s(h1, h2, h3)), mbus4_call1_args(n, "qname", "data", "headers", "properties", "delayed_until", "expires", "iid") as (select mbus4_rows1.n, ('q')::pg_catalog.text, mbus4_rows1.h3, null::mbus4_hstore.hstore, null::mbus4_hstore.hstore, null::timestamp without time zone, null::timestamp without time zone, null::pg_catalog.text from mbus4_rows1), mbus4_call1 as (select * from served_rows), p as (select mbus4_rows1.h1 as "id", mbus4_call1."post" as iid from mbus4_rows1 left join mbus4_call1 on mbus4_call1.n = mbus4_rows1.n order by mbus4_rows1.n) update t set iid = p.iid from p where p.id = t.id

# a subquery in an argument keeps its own scope
select mbus4.post('q', (select hstore(u) from u where u.id = t.id)) from t
----
with mbus4_rows1 as (select 1::bigint as n, s.* from (select null, ((select hstore(u) from u where u.id = t.id))::mbus4_hstore.hstore from t) as s(h1, h2)), mbus4_call1_args(n, "qname", "data", "headers", "properties", "delayed_until", "expires", "iid") as (select mbus4_rows1.n, ('q')::pg_catalog.text, mbus4_rows1.h2, null::mbus4_hstore.hstore, null::mbus4_hstore.hstore, null::timestamp without time zone, null::timestamp without time zone, null::pg_catalog.text from mbus4_rows1), mbus4_call1 as (select * from served_rows) select mbus4_call1."post" as "post" from mbus4_call1

# no word is taken for the end of the target list
select a is distinct from b, mbus4.post('q', ''), percentile_cont(0.5) within group (order by a) from t
----
with mbus4_rows1 as materialized (select pg_catalog.row_number() over () as n, s.* from (select a is distinct from b, null, percentile_cont(0.5) within group (order by a) from t) as s(h1, h2, h3)), mbus4_call1_args(n, "qname", "data", "headers", "properties", "delayed_until", "expires", "iid") as (select mbus4_rows1.n, ('q')::pg_catalog.text, (row('')::mbus4_hstore.given).value, null::mbus4_hstore.hstore, null::mbus4_hstore.hstore, null::timestamp without time zone, null::timestamp without time zone, null::pg_catalog.text from mbus4_rows1), mbus4_call1 as (select * from served_rows) select mbus4_rows1.h1 as "?column?", mbus4_call1."post" as "post", mbus4_rows1.h3 as "percentile_cont" from mbus4_rows1 left join mbus4_call1 on mbus4_call1.n = mbus4_rows1.n order by mbus4_rows1.n

# in a subquery that runs once
select count(*) from (select mbus4.take(x) from unnest($1::text[]) x) s where $2
----
with mbus4_rows1 as (select pg_catalog.row_number() over () as n, s.* from (select null, (x)::pg_catalog.text from unnest($1::text[]) x) as s(h1, h2) where ($2)), mbus4_call1_args(n, "msgid") as (select mbus4_rows1.n, mbus4_rows1.h2 from mbus4_rows1), mbus4_call1 as (select * from served_rows) select count(*) from (select mbus4_call1."take" as "take" from mbus4_call1 order by mbus4_call1.n) s where $2

select array(select mbus4.take(x) from unnest($1::text[]) x)
----
with mbus4_rows1 as (select pg_catalog.row_number() over () as n, s.* from (select null, (x)::pg_catalog.text from unnest($1::text[]) x) as s(h1, h2)), mbus4_call1_args(n, "msgid") as (select mbus4_rows1.n, mbus4_rows1.h2 from mbus4_rows1), mbus4_call1 as (select * from served_rows) select array(select mbus4_call1."take" as "take" from mbus4_call1 order by mbus4_call1.n)

# a column that does not exist is the server's to report
select * from mbus4.consume(nosuch)
----
with mbus4_call1_args(n, "qname", "cname") as (select 1::bigint, (nosuch)::pg_catalog.text, 'default'::pg_catalog.text), mbus4_call1 as (select * from served) select * from (select (m.r).* from (select "consume" as r from mbus4_call1) m) as "consume"
