# all there are may be too many for an array
select count(*) from mbus4.consumen('q', amt => null::int) m where m.iid <> 'x'
----
select count(*) from at_consumen(('q')::pg_catalog.text, 'default'::pg_catalog.text, (null::int)::integer, 1) m where m.iid <> 'x'

# the plain call takes its name as alias, so that consume.iid works
select * from mbus4.consume('q')
----
with mbus4_call1_args(n, "qname", "cname") as (select 1::bigint, ('q')::pg_catalog.text, 'default'::pg_catalog.text), mbus4_call1 as (select * from served) select * from (select (m.r).* from (select "consume" as r from mbus4_call1) m) as "consume"

# alias, column aliases
select m.a, m.iid from mbus4.consume('q', 'c') as m(a)
----
with mbus4_call1_args(n, "qname", "cname") as (select 1::bigint, ('q')::pg_catalog.text, ('c')::pg_catalog.text), mbus4_call1 as (select * from served) select m.a, m.iid from (select (m.r).* from (select "consume" as r from mbus4_call1) m) as m(a)

# the alias comes behind WITH ORDINALITY
select * from mbus4.consume('q') with ordinality
----
with mbus4_call1_args(n, "qname", "cname") as (select 1::bigint, ('q')::pg_catalog.text, 'default'::pg_catalog.text), mbus4_call1 as (select * from served) select * from pg_catalog.unnest(array(select "consume" from mbus4_call1)) with ordinality as "consume"

select * from mbus4.consume('q') with ordinality as m(a, b, c, d, e, f, g, h, i, n)
----
with mbus4_call1_args(n, "qname", "cname") as (select 1::bigint, ('q')::pg_catalog.text, 'default'::pg_catalog.text), mbus4_call1 as (select * from served) select * from pg_catalog.unnest(array(select "consume" from mbus4_call1)) with ordinality as m(a, b, c, d, e, f, g, h, i, n)

# named and mixed notation, both names of a parameter
select * from mbus4.consumen(qname => 'q', amt := 10)
----
with mbus4_call1_args(n, "qname", "cname", "amt") as (select 1::bigint, ('q')::pg_catalog.text, 'default'::pg_catalog.text, (10)::integer), mbus4_call1 as (select * from served) select * from (select (m.r).* from (select "consumen" as r from mbus4_call1) m) as "consumen"

# a join keeps its text
select u.name, m.iid
from mbus4.consume('q') m   -- the message
left join users u on u.id = (m.data->'user')::int
----
with mbus4_call1_args(n, "qname", "cname") as (select 1::bigint, ('q')::pg_catalog.text, 'default'::pg_catalog.text), mbus4_call1 as (select * from served) select u.name, m.iid
from pg_catalog.unnest(array(select "consume" from mbus4_call1)) m   -- the message
left join users u on u.id = (m.data->'user')::int

# a function with a scalar result
select * from mbus4.post('q', 'a=>1')
----
with mbus4_call1_args(n, "qname", "data", "headers", "properties", "delayed_until", "expires", "iid") as (select 1::bigint, ('q')::pg_catalog.text, (row('a=>1')::mbus4_hstore.given).value, null::mbus4_hstore.hstore, null::mbus4_hstore.hstore, null::timestamp without time zone, null::timestamp without time zone, null::pg_catalog.text), mbus4_call1 as (select * from served) select * from coalesce((select "post" as "post" from mbus4_call1)) as "post"

# JDBC's {? = call mbus4.post(?, ?)}
select * from mbus4.post($1,$2) as result
----
with mbus4_call1_args(n, "qname", "data", "headers", "properties", "delayed_until", "expires", "iid") as (select 1::bigint, ($1)::pg_catalog.text, (row($2)::mbus4_hstore.given).value, null::mbus4_hstore.hstore, null::mbus4_hstore.hstore, null::timestamp without time zone, null::timestamp without time zone, null::pg_catalog.text), mbus4_call1 as (select * from served) select * from coalesce((select "post" as "post" from mbus4_call1)) as result

# one message: a row even when there is none
select * from mbus4.take('x')
----
with mbus4_call1_args(n, "msgid") as (select 1::bigint, ('x')::pg_catalog.text), mbus4_call1 as (select * from served) select * from pg_catalog.unnest(array[(select "take" as "take" from mbus4_call1)::mbus4.qt_model]) as "take"

select * from mbus4.peek('x') p
----
select * from pg_catalog.unnest(array[(select served_peek(('x')::pg_catalog.text) as "peek")::mbus4.qt_model]) p

# several calls, in the order of the text
select a.iid, b.iid from mbus4.consume('a') a, mbus4.consume('b') b
----
with mbus4_call1_args(n, "qname", "cname") as (select 1::bigint, ('a')::pg_catalog.text, 'default'::pg_catalog.text), mbus4_call1 as (select * from served), mbus4_call2_args(n, "qname", "cname") as (select 1::bigint, ('b')::pg_catalog.text, 'default'::pg_catalog.text), mbus4_call2 as (select * from served) select a.iid, b.iid from pg_catalog.unnest(array(select "consume" from mbus4_call1)) a, pg_catalog.unnest(array(select "consume" from mbus4_call2)) b

select * from rows from (mbus4.consume('q'), generate_series(1, 2)) with ordinality
----
with mbus4_call1_args(n, "qname", "cname") as (select 1::bigint, ('q')::pg_catalog.text, 'default'::pg_catalog.text), mbus4_call1 as (select * from served) select * from rows from (pg_catalog.unnest(array(select "consume" from mbus4_call1)), generate_series(1, 2)) with ordinality as "consume"

select * from rows from (mbus4.consume('q'), generate_series(1, 2)) as x(a)
----
with mbus4_call1_args(n, "qname", "cname") as (select 1::bigint, ('q')::pg_catalog.text, 'default'::pg_catalog.text), mbus4_call1 as (select * from served) select * from rows from (pg_catalog.unnest(array(select "consume" from mbus4_call1)), generate_series(1, 2)) as x(a)

# a subquery in FROM
select count(*) from (select * from mbus4.consumen('q', amt => 5)) s
----
with mbus4_call1_args(n, "qname", "cname", "amt") as (select 1::bigint, ('q')::pg_catalog.text, 'default'::pg_catalog.text, (5)::integer), mbus4_call1 as (select * from served) select count(*) from (select * from (select (m.r).* from (select "consumen" as r from mbus4_call1) m) as "consumen") s

# conditions on which the function is not called at all
select * from mbus4.consume('q') limit 0
----
with mbus4_call1_args(n, "qname", "cname") as (select 1::bigint, ('q')::pg_catalog.text, 'default'::pg_catalog.text where false), mbus4_call1 as (select * from served) select * from pg_catalog.unnest(array(select "consume" from mbus4_call1)) as "consume" limit 0

select * from mbus4.consume('q') limit $1
----
with mbus4_call1_args(n, "qname", "cname") as (select 1::bigint, ('q')::pg_catalog.text, 'default'::pg_catalog.text where coalesce(($1)::bigint, 1) > 0), mbus4_call1 as (select * from served) select * from pg_catalog.unnest(array(select "consume" from mbus4_call1)) as "consume" limit $1

select * from mbus4.consume('q') where $1 or false order by id limit 5
----
with mbus4_call1_args(n, "qname", "cname") as (select 1::bigint, ('q')::pg_catalog.text, 'default'::pg_catalog.text where ($1 or false)), mbus4_call1 as (select * from served) select * from pg_catalog.unnest(array(select "consume" from mbus4_call1)) as "consume" where $1 or false order by id limit 5

# a condition on the rows is none of these
select * from mbus4.consume('q') where iid = $1
----
with mbus4_call1_args(n, "qname", "cname") as (select 1::bigint, ('q')::pg_catalog.text, 'default'::pg_catalog.text), mbus4_call1 as (select * from served) select * from pg_catalog.unnest(array(select "consume" from mbus4_call1)) as "consume" where iid = $1

select * from (select * from mbus4.consume('q') where 1 = 1) s where false
----
with mbus4_call1_args(n, "qname", "cname") as (select 1::bigint, ('q')::pg_catalog.text, 'default'::pg_catalog.text where (false) and (1 = 1)), mbus4_call1 as (select * from served) select * from (select * from pg_catalog.unnest(array(select "consume" from mbus4_call1)) as "consume" where 1 = 1) s where false

# FROM of UPDATE and USING of DELETE
update t set name = m.iid from mbus4.consume('q') m where t.id = 3 returning t.*
----
with mbus4_call1_args(n, "qname", "cname") as (select 1::bigint, ('q')::pg_catalog.text, 'default'::pg_catalog.text), mbus4_call1 as (select * from served) update t set name = m.iid from pg_catalog.unnest(array(select "consume" from mbus4_call1)) m where t.id = 3 returning t.*

delete from t using mbus4.consume('q') m where t.id = (m.data->'id')::int
----
with mbus4_call1_args(n, "qname", "cname") as (select 1::bigint, ('q')::pg_catalog.text, 'default'::pg_catalog.text), mbus4_call1 as (select * from served) delete from t using pg_catalog.unnest(array(select "consume" from mbus4_call1)) m where t.id = (m.data->'id')::int

# MERGE
merge into t using mbus4.consume('q') m on t.id = m.id when not matched then insert values (m.id)
----
with mbus4_call1_args(n, "qname", "cname") as (select 1::bigint, ('q')::pg_catalog.text, 'default'::pg_catalog.text), mbus4_call1 as (select * from served) merge into t using pg_catalog.unnest(array(select "consume" from mbus4_call1)) m on t.id = m.id when not matched then insert values (m.id)

# branches
select * from mbus4.consume('a') union all select * from mbus4.consume('b')
----
with mbus4_call1_args(n, "qname", "cname") as (select 1::bigint, ('a')::pg_catalog.text, 'default'::pg_catalog.text), mbus4_call1 as (select * from served), mbus4_call2_args(n, "qname", "cname") as (select 1::bigint, ('b')::pg_catalog.text, 'default'::pg_catalog.text), mbus4_call2 as (select * from served) select * from (select (m.r).* from (select "consume" as r from mbus4_call1) m) as "consume" union all select * from (select (m.r).* from (select "consume" as r from mbus4_call2) m) as "consume"

# families
select * from mbus4.consume_q_by_c(), mbus4.consumen_q_by_c(3) n
----
with mbus4_call1_args(n, "qname", "cname") as (select 1::bigint, ('q')::pg_catalog.text, ('c')::pg_catalog.text), mbus4_call1 as (select * from served), mbus4_call2_args(n, "qname", "cname", "amt") as (select 1::bigint, ('q')::pg_catalog.text, ('c')::pg_catalog.text, (3)::integer), mbus4_call2 as (select * from served) select * from pg_catalog.unnest(array(select "consume" from mbus4_call1)) as "consume_q_by_c", pg_catalog.unnest(array(select "consumen" from mbus4_call2)) n

# a name with two readings is decided by the database
select * from mbus4.consume_a_by_b_by_c()
----
with mbus4_call1_args(n, "qname", "cname") as (select 1::bigint, ('a|a_by_b')::pg_catalog.text, ('b_by_c|c')::pg_catalog.text), mbus4_call1 as (select * from served) select * from (select (m.r).* from (select "consume" as r from mbus4_call1) m) as "consume_a_by_b_by_c"

# quoted names
select * from "mbus4"."consume"('q') as "M"
----
with mbus4_call1_args(n, "qname", "cname") as (select 1::bigint, ('q')::pg_catalog.text, 'default'::pg_catalog.text), mbus4_call1 as (select * from served) select * from (select (m.r).* from (select "consume" as r from mbus4_call1) m) as "M"

select * from MBUS4 . Consume ('q')
----
with mbus4_call1_args(n, "qname", "cname") as (select 1::bigint, ('q')::pg_catalog.text, 'default'::pg_catalog.text), mbus4_call1 as (select * from served) select * from (select (m.r).* from (select "consume" as r from mbus4_call1) m) as "consume"

select * from mbus4.consume('a') m left join t on true
----
with mbus4_call1_args(n, "qname", "cname") as (select 1::bigint, ('a')::pg_catalog.text, 'default'::pg_catalog.text), mbus4_call1 as (select * from served) select * from pg_catalog.unnest(array(select "consume" from mbus4_call1)) m left join t on true

# a call that waits: the wait is no part of the SQL that serves it, but the server finds its parameter
select * from mbus4.consume('q', wait => $1)
----
with mbus4_call1_args(n, "qname", "cname", "wait") as (select 1::bigint, ('q')::pg_catalog.text, 'default'::pg_catalog.text, ($1)::pg_catalog.interval), mbus4_call1 as (select * from served) select * from (select (m.r).* from (select "consume" as r from mbus4_call1) m) as "consume"

select * from mbus4.consumen_q_by_c(5, wait => '30s'::interval)
----
with mbus4_call1_args(n, "qname", "cname", "amt", "wait") as (select 1::bigint, ('q')::pg_catalog.text, ('c')::pg_catalog.text, (5)::integer, ('30s'::interval)::pg_catalog.interval), mbus4_call1 as (select * from served) select * from (select (m.r).* from (select "consumen" as r from mbus4_call1) m) as "consumen_q_by_c"

select mbus4.consume('q', wait => null) from t
----
with mbus4_rows1 as (select pg_catalog.row_number() over () as n, s.* from (select null from t) as s(h1)), mbus4_call1_args(n, "qname", "cname", "wait") as (select mbus4_rows1.n, ('q')::pg_catalog.text, 'default'::pg_catalog.text, (null)::pg_catalog.interval from mbus4_rows1), mbus4_call1 as (select * from served_rows) select mbus4_call1."consume" as "consume" from mbus4_call1 order by mbus4_call1.n, mbus4_call1.o
