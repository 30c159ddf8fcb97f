# What cannot be served inline is evaluated by the server, by a function in the database: all calls of
# the statement are.
select 1 from t where mbus4.post('q', '') is not null
----
select 1 from t where at_post(('q')::pg_catalog.text, (row('')::mbus4_hstore.given).value, null::mbus4_hstore.hstore, null::mbus4_hstore.hstore, null::timestamp without time zone, null::timestamp without time zone, null::pg_catalog.text, 1) is not null

select case when true then mbus4.post('q', '') end
----
select case when true then at_post(('q')::pg_catalog.text, (row('')::mbus4_hstore.given).value, null::mbus4_hstore.hstore, null::mbus4_hstore.hstore, null::timestamp without time zone, null::timestamp without time zone, null::pg_catalog.text, 1) end

select mbus4.post('q', '') is null or true
----
select at_post(('q')::pg_catalog.text, (row('')::mbus4_hstore.given).value, null::mbus4_hstore.hstore, null::mbus4_hstore.hstore, null::timestamp without time zone, null::timestamp without time zone, null::pg_catalog.text, 1) is null or true

select coalesce(x, mbus4.post('q', '')) from t
----
select coalesce(x, at_post(('q')::pg_catalog.text, (row('')::mbus4_hstore.given).value, null::mbus4_hstore.hstore, null::mbus4_hstore.hstore, null::timestamp without time zone, null::timestamp without time zone, null::pg_catalog.text, 1)) from t

update t set name = mbus4.post('q', 'a=>1')
----
update t set name = at_post(('q')::pg_catalog.text, (row('a=>1')::mbus4_hstore.given).value, null::mbus4_hstore.hstore, null::mbus4_hstore.hstore, null::timestamp without time zone, null::timestamp without time zone, null::pg_catalog.text, 1)

insert into t values (1) returning mbus4.post('q', '')
----
insert into t values (1) returning at_post(('q')::pg_catalog.text, (row('')::mbus4_hstore.given).value, null::mbus4_hstore.hstore, null::mbus4_hstore.hstore, null::timestamp without time zone, null::timestamp without time zone, null::pg_catalog.text, 1) as "post"

insert into t values (1) on conflict (id) do update set name = mbus4.post('q', '')
----
insert into t values (1) on conflict (id) do update set name = at_post(('q')::pg_catalog.text, (row('')::mbus4_hstore.given).value, null::mbus4_hstore.hstore, null::mbus4_hstore.hstore, null::timestamp without time zone, null::timestamp without time zone, null::pg_catalog.text, 1)

declare c cursor for select * from mbus4.consume('q')
----
declare c cursor for select * from at_consume(('q')::pg_catalog.text, 'default'::pg_catalog.text, 1) as "consume"

select * from t, mbus4.take(t.iid)
----
select * from t, at_take((t.iid)::pg_catalog.text, 1) as "take"

select * from t, lateral (select mbus4.take(t.iid)) x
----
select * from t, lateral (select at_take((t.iid)::pg_catalog.text, 1) as "take") x

select * from t join lateral mbus4.take(t.iid) m on true
----
select * from t join lateral at_take((t.iid)::pg_catalog.text, 1) m on true

select * from t order by mbus4.post('q', '')
----
select * from t order by at_post(('q')::pg_catalog.text, (row('')::mbus4_hstore.given).value, null::mbus4_hstore.hstore, null::mbus4_hstore.hstore, null::timestamp without time zone, null::timestamp without time zone, null::pg_catalog.text, 1)

select * from t limit length(mbus4.post('q', ''))
----
select * from t limit length(at_post(('q')::pg_catalog.text, (row('')::mbus4_hstore.given).value, null::mbus4_hstore.hstore, null::mbus4_hstore.hstore, null::timestamp without time zone, null::timestamp without time zone, null::pg_catalog.text, 1))

select distinct mbus4.post('q', '') from t
----
select distinct at_post(('q')::pg_catalog.text, (row('')::mbus4_hstore.given).value, null::mbus4_hstore.hstore, null::mbus4_hstore.hstore, null::timestamp without time zone, null::timestamp without time zone, null::pg_catalog.text, 1) as "post" from t

select array_agg(mbus4.post('q', hstore(t))) from t
----
select array_agg(at_post(('q')::pg_catalog.text, (hstore(t))::mbus4_hstore.hstore, null::mbus4_hstore.hstore, null::mbus4_hstore.hstore, null::timestamp without time zone, null::timestamp without time zone, null::pg_catalog.text, 1)) from t

select count(*) over (partition by mbus4.post('q', '')) from t
----
select count(*) over (partition by at_post(('q')::pg_catalog.text, (row('')::mbus4_hstore.given).value, null::mbus4_hstore.hstore, null::mbus4_hstore.hstore, null::timestamp without time zone, null::timestamp without time zone, null::pg_catalog.text, 1)) from t

select t.name, mbus4.post('q', '') p from t order by p
----
select t.name, at_post(('q')::pg_catalog.text, (row('')::mbus4_hstore.given).value, null::mbus4_hstore.hstore, null::mbus4_hstore.hstore, null::timestamp without time zone, null::timestamp without time zone, null::pg_catalog.text, 1) p from t order by p

select t.name, mbus4.post('q', '') from t order by 2
----
select t.name, at_post(('q')::pg_catalog.text, (row('')::mbus4_hstore.given).value, null::mbus4_hstore.hstore, null::mbus4_hstore.hstore, null::timestamp without time zone, null::timestamp without time zone, null::pg_catalog.text, 1) as "post" from t order by 2

select * from mbus4.consume('q') union all select * from mbus4.consume('q') limit 1
----
select * from at_consume(('q')::pg_catalog.text, 'default'::pg_catalog.text, 1) as "consume" union all select * from at_consume(('q')::pg_catalog.text, 'default'::pg_catalog.text, 2) as "consume" limit 1

select * from t where id in (select id from mbus4.consume('q'))
----
select * from t where id in (select id from at_consume(('q')::pg_catalog.text, 'default'::pg_catalog.text, 1) as "consume")

select (select mbus4.post('q', hstore(t)) from u) from t
----
select (select at_post(('q')::pg_catalog.text, (hstore(t))::mbus4_hstore.hstore, null::mbus4_hstore.hstore, null::mbus4_hstore.hstore, null::timestamp without time zone, null::timestamp without time zone, null::pg_catalog.text, 1) as "post" from u) from t

with m as (select * from mbus4.consume('q')) select 1
----
with m as (select * from at_consume(('q')::pg_catalog.text, 'default'::pg_catalog.text, 1) as "consume") select 1

with recursive m as (select 1 as n union all select n + 1 from m, mbus4.consume('q')) select * from m
----
with recursive m as (select 1 as n union all select n + 1 from m, at_consume(('q')::pg_catalog.text, 'default'::pg_catalog.text, 1) as "consume") select * from m

with a as (with b as (select * from mbus4.consume('q')) select * from b) select * from a
----
with a as (with b as (select * from at_consume(('q')::pg_catalog.text, 'default'::pg_catalog.text, 1) as "consume") select * from b) select * from a

select *, mbus4.post('q', '') from t join u using (id)
----
select *, at_post(('q')::pg_catalog.text, (row('')::mbus4_hstore.given).value, null::mbus4_hstore.hstore, null::mbus4_hstore.hstore, null::timestamp without time zone, null::timestamp without time zone, null::pg_catalog.text, 1) as "post" from t join u using (id)

select *, mbus4.take(x) from unnest($1::text[]) x
----
select *, at_take((x)::pg_catalog.text, 1) as "take" from unnest($1::text[]) x

select mbus4.consume('a'), mbus4.consume('b') from t
----
select at_consume(('a')::pg_catalog.text, 'default'::pg_catalog.text, 1) as "consume", at_consume(('b')::pg_catalog.text, 'default'::pg_catalog.text, 2) as "consume" from t

execute p(mbus4.post('q', ''))
----
execute p(at_post(('q')::pg_catalog.text, (row('')::mbus4_hstore.given).value, null::mbus4_hstore.hstore, null::mbus4_hstore.hstore, null::timestamp without time zone, null::timestamp without time zone, null::pg_catalog.text, 1))

call p(mbus4.post('q', ''))
----
call p(at_post(('q')::pg_catalog.text, (row('')::mbus4_hstore.given).value, null::mbus4_hstore.hstore, null::mbus4_hstore.hstore, null::timestamp without time zone, null::timestamp without time zone, null::pg_catalog.text, 1))

select mbus4.is_msg_exists((mbus4.consume('q')).iid)
----
select at_is_msg_exists(((at_consume(('q')::pg_catalog.text, 'default'::pg_catalog.text, 2)).iid)::pg_catalog.text, 1) as "is_msg_exists"

# rows that Postgres would not read, and so not post
with p as (select mbus4.post('q', hstore(t)) from t) select * from p limit 1
----
with p as (select at_post(('q')::pg_catalog.text, (hstore(t))::mbus4_hstore.hstore, null::mbus4_hstore.hstore, null::mbus4_hstore.hstore, null::timestamp without time zone, null::timestamp without time zone, null::pg_catalog.text, 1) as "post" from t) select * from p limit 1

select * from (select mbus4.post('q', hstore(t)) from t) s limit $1
----
select * from (select at_post(('q')::pg_catalog.text, (hstore(t))::mbus4_hstore.hstore, null::mbus4_hstore.hstore, null::mbus4_hstore.hstore, null::timestamp without time zone, null::timestamp without time zone, null::pg_catalog.text, 1) as "post" from t) s limit $1

select (mbus4.consumen('a', amt => 3)).iid limit 1
----
select (at_consumen(('a')::pg_catalog.text, 'default'::pg_catalog.text, (3)::integer, 1)).iid limit 1

select * from t left join mbus4.consume('a') m on true
----
select * from t left join at_consume(('a')::pg_catalog.text, 'default'::pg_catalog.text, 1) m on true

select * from mbus4.consume('a') m right join t on true
----
select * from at_consume(('a')::pg_catalog.text, 'default'::pg_catalog.text, 1) m right join t on true

# the column keeps the name that the call would have given it
select t.id, case when t.id > 1 then null else mbus4.post('q', '') end from t
----
select t.id, case when t.id > 1 then null else at_post(('q')::pg_catalog.text, (row('')::mbus4_hstore.given).value, null::mbus4_hstore.hstore, null::mbus4_hstore.hstore, null::timestamp without time zone, null::timestamp without time zone, null::pg_catalog.text, 1) end as "post" from t

select case when true then 1 else length(mbus4.post('q', '')) end, (case when x is distinct from y then null else mbus4.post('q', '') end)::text collate "C" from t
----
select case when true then 1 else length(at_post(('q')::pg_catalog.text, (row('')::mbus4_hstore.given).value, null::mbus4_hstore.hstore, null::mbus4_hstore.hstore, null::timestamp without time zone, null::timestamp without time zone, null::pg_catalog.text, 1)) end, (case when x is distinct from y then null else at_post(('q')::pg_catalog.text, (row('')::mbus4_hstore.given).value, null::mbus4_hstore.hstore, null::mbus4_hstore.hstore, null::timestamp without time zone, null::timestamp without time zone, null::pg_catalog.text, 2) end)::text collate "C" as "post" from t

select (select mbus4.post('q', hstore(t)) from u limit 1), array(select mbus4.post('q', hstore(t)) from u) from t
----
select (select at_post(('q')::pg_catalog.text, (hstore(t))::mbus4_hstore.hstore, null::mbus4_hstore.hstore, null::mbus4_hstore.hstore, null::timestamp without time zone, null::timestamp without time zone, null::pg_catalog.text, 1) as "post" from u limit 1), array(select at_post(('q')::pg_catalog.text, (hstore(t))::mbus4_hstore.hstore, null::mbus4_hstore.hstore, null::mbus4_hstore.hstore, null::timestamp without time zone, null::timestamp without time zone, null::pg_catalog.text, 2) as "post" from u) from t

with w as (update t set name = 'x' returning mbus4.post('q', '')) select post from w
----
with w as (update t set name = 'x' returning at_post(('q')::pg_catalog.text, (row('')::mbus4_hstore.given).value, null::mbus4_hstore.hstore, null::mbus4_hstore.hstore, null::timestamp without time zone, null::timestamp without time zone, null::pg_catalog.text, 1) as "post") select post from w

merge into t using u on t.id = u.id when matched and mbus4.post('q', '') is not null then update set name = mbus4.post('q', '') when not matched then insert values (u.id, mbus4.post('q', ''))
----
merge into t using u on t.id = u.id when matched and at_post(('q')::pg_catalog.text, (row('')::mbus4_hstore.given).value, null::mbus4_hstore.hstore, null::mbus4_hstore.hstore, null::timestamp without time zone, null::timestamp without time zone, null::pg_catalog.text, 1) is not null then update set name = at_post(('q')::pg_catalog.text, (row('')::mbus4_hstore.given).value, null::mbus4_hstore.hstore, null::mbus4_hstore.hstore, null::timestamp without time zone, null::timestamp without time zone, null::pg_catalog.text, 2) when not matched then insert values (u.id, at_post(('q')::pg_catalog.text, (row('')::mbus4_hstore.given).value, null::mbus4_hstore.hstore, null::mbus4_hstore.hstore, null::timestamp without time zone, null::timestamp without time zone, null::pg_catalog.text, 3))

# void is not null
delete from t where mbus4.create_queue('q', 1) is null returning *, mbus4.take(t.name) as m
----
delete from t where at_create_queue(('q')::pg_catalog.text, (1)::integer, 1) is null returning *, at_take((t.name)::pg_catalog.text, 2) as m

select * from t, mbus4.create_queue(t.name, 1)
----
select * from t, at_create_queue((t.name)::pg_catalog.text, (1)::integer, 1) as "create_queue"

select * from t, mbus4.consume(t.name) with ordinality
----
select * from t, at_consume((t.name)::pg_catalog.text, 'default'::pg_catalog.text, 1) with ordinality as "consume"

# what Postgres compares keeps equal: one number for both, whatever the literals are
select id from t group by id, mbus4.post('q', '') having mbus4.post('q', '') <> mbus4.post('r', '') order by mbus4 . post('q',  '')
----
select id from t group by id, at_post(('q')::pg_catalog.text, (row('')::mbus4_hstore.given).value, null::mbus4_hstore.hstore, null::mbus4_hstore.hstore, null::timestamp without time zone, null::timestamp without time zone, null::pg_catalog.text, 1) having at_post(('q')::pg_catalog.text, (row('')::mbus4_hstore.given).value, null::mbus4_hstore.hstore, null::mbus4_hstore.hstore, null::timestamp without time zone, null::timestamp without time zone, null::pg_catalog.text, 1) <> at_post(('r')::pg_catalog.text, (row('')::mbus4_hstore.given).value, null::mbus4_hstore.hstore, null::mbus4_hstore.hstore, null::timestamp without time zone, null::timestamp without time zone, null::pg_catalog.text, 1) order by at_post(('q')::pg_catalog.text, (row('')::mbus4_hstore.given).value, null::mbus4_hstore.hstore, null::mbus4_hstore.hstore, null::timestamp without time zone, null::timestamp without time zone, null::pg_catalog.text, 1)

# and is told apart elsewhere
select mbus4.post('q', ''), mbus4.post('r', '') from t where mbus4.post('s', '') is null
----
select at_post(('q')::pg_catalog.text, (row('')::mbus4_hstore.given).value, null::mbus4_hstore.hstore, null::mbus4_hstore.hstore, null::timestamp without time zone, null::timestamp without time zone, null::pg_catalog.text, 1) as "post", at_post(('r')::pg_catalog.text, (row('')::mbus4_hstore.given).value, null::mbus4_hstore.hstore, null::mbus4_hstore.hstore, null::timestamp without time zone, null::timestamp without time zone, null::pg_catalog.text, 2) as "post" from t where at_post(('s')::pg_catalog.text, (row('')::mbus4_hstore.given).value, null::mbus4_hstore.hstore, null::mbus4_hstore.hstore, null::timestamp without time zone, null::timestamp without time zone, null::pg_catalog.text, 3) is null

select row_number() over (partition by mbus4.post('q', '') order by mbus4.post('r', '')), string_agg(mbus4.post('q', ''), ',' order by mbus4.post('q', '')) from t group by mbus4.post('q', '')
----
select row_number() over (partition by at_post(('q')::pg_catalog.text, (row('')::mbus4_hstore.given).value, null::mbus4_hstore.hstore, null::mbus4_hstore.hstore, null::timestamp without time zone, null::timestamp without time zone, null::pg_catalog.text, 1) order by at_post(('r')::pg_catalog.text, (row('')::mbus4_hstore.given).value, null::mbus4_hstore.hstore, null::mbus4_hstore.hstore, null::timestamp without time zone, null::timestamp without time zone, null::pg_catalog.text, 1)), string_agg(at_post(('q')::pg_catalog.text, (row('')::mbus4_hstore.given).value, null::mbus4_hstore.hstore, null::mbus4_hstore.hstore, null::timestamp without time zone, null::timestamp without time zone, null::pg_catalog.text, 1), ',' order by at_post(('q')::pg_catalog.text, (row('')::mbus4_hstore.given).value, null::mbus4_hstore.hstore, null::mbus4_hstore.hstore, null::timestamp without time zone, null::timestamp without time zone, null::pg_catalog.text, 1)) from t group by at_post(('q')::pg_catalog.text, (row('')::mbus4_hstore.given).value, null::mbus4_hstore.hstore, null::mbus4_hstore.hstore, null::timestamp without time zone, null::timestamp without time zone, null::pg_catalog.text, 1)

# one inside the other
select mbus4.post('q', 'a=>1', iid => mbus4.post('r', '')) from t where mbus4.consumen('q') is not null
----
select at_post(('q')::pg_catalog.text, (row('a=>1')::mbus4_hstore.given).value, null::mbus4_hstore.hstore, null::mbus4_hstore.hstore, null::timestamp without time zone, null::timestamp without time zone, (at_post(('r')::pg_catalog.text, (row('')::mbus4_hstore.given).value, null::mbus4_hstore.hstore, null::mbus4_hstore.hstore, null::timestamp without time zone, null::timestamp without time zone, null::pg_catalog.text, 2))::pg_catalog.text, 1) as "post" from t where at_consumen(('q')::pg_catalog.text, 'default'::pg_catalog.text, '1'::integer, 3) is not null

# calls without an effect stay subqueries, but over such a call
select mbus4.peek('x'), mbus4.peek(mbus4.post('q', '')), mbus4.get_iid((mbus4.take('x')).iid) from t where true or mbus4.peek_q()
----
select (select served_peek(('x')::pg_catalog.text) as "peek")::mbus4.qt_model, at_peek((at_post(('q')::pg_catalog.text, (row('')::mbus4_hstore.given).value, null::mbus4_hstore.hstore, null::mbus4_hstore.hstore, null::timestamp without time zone, null::timestamp without time zone, null::pg_catalog.text, 3))::pg_catalog.text, 2) as "peek", at_generate_new_msgiid(((at_take(('x')::pg_catalog.text, 5)).iid)::pg_catalog.text, 4) as "get_iid" from t where true or (select served_peek_queue(null::pg_catalog.text) as "peek_q")

# where no subquery may stand
execute p(mbus4.get_iid('q'), mbus4.is_msg_exists('x'))
----
execute p(at_generate_new_msgiid(('q')::pg_catalog.text, 1), at_is_msg_exists(('x')::pg_catalog.text, 2))

copy t from stdin where mbus4.post('q', '') is not null
----
copy t from stdin where at_post(('q')::pg_catalog.text, (row('')::mbus4_hstore.given).value, null::mbus4_hstore.hstore, null::mbus4_hstore.hstore, null::timestamp without time zone, null::timestamp without time zone, null::pg_catalog.text, 1) is not null

copy (select * from t where mbus4.post('q', '') is not null) to stdout
----
copy (select * from t where at_post(('q')::pg_catalog.text, (row('')::mbus4_hstore.given).value, null::mbus4_hstore.hstore, null::mbus4_hstore.hstore, null::timestamp without time zone, null::timestamp without time zone, null::pg_catalog.text, 1) is not null) to stdout

create table x as select * from t where mbus4.post('q', '') is not null with no data
----
create table x as select * from t where at_post(('q')::pg_catalog.text, (row('')::mbus4_hstore.given).value, null::mbus4_hstore.hstore, null::mbus4_hstore.hstore, null::timestamp without time zone, null::timestamp without time zone, null::pg_catalog.text, 1) is not null with no data

create temp table x as execute p(mbus4.post('q', ''))
----
create temp table x as execute p(at_post(('q')::pg_catalog.text, (row('')::mbus4_hstore.given).value, null::mbus4_hstore.hstore, null::mbus4_hstore.hstore, null::timestamp without time zone, null::timestamp without time zone, null::pg_catalog.text, 1))

explain (analyze, costs off) select * from t where mbus4.post('q', '') is not null
----
explain (analyze, costs off) select * from t where at_post(('q')::pg_catalog.text, (row('')::mbus4_hstore.given).value, null::mbus4_hstore.hstore, null::mbus4_hstore.hstore, null::timestamp without time zone, null::timestamp without time zone, null::pg_catalog.text, 1) is not null

prepare p(text) as select * from t where mbus4.post('q', '', iid => $1) is not null
----
prepare p(text) as select * from t where at_post(('q')::pg_catalog.text, (row('')::mbus4_hstore.given).value, null::mbus4_hstore.hstore, null::mbus4_hstore.hstore, null::timestamp without time zone, null::timestamp without time zone, ($1)::pg_catalog.text, 1) is not null

declare c no scroll cursor with hold for select mbus4.post('q', '') from t
----
declare c no scroll cursor with hold for select at_post(('q')::pg_catalog.text, (row('')::mbus4_hstore.given).value, null::mbus4_hstore.hstore, null::mbus4_hstore.hstore, null::timestamp without time zone, null::timestamp without time zone, null::pg_catalog.text, 1) as "post" from t

select * from rows from (mbus4.post('q', ''), mbus4.take('x')) as x(post, a, b) where mbus4.post('q', '') is null
----
select * from rows from (at_post(('q')::pg_catalog.text, (row('')::mbus4_hstore.given).value, null::mbus4_hstore.hstore, null::mbus4_hstore.hstore, null::timestamp without time zone, null::timestamp without time zone, null::pg_catalog.text, 1), at_take(('x')::pg_catalog.text, 2)) as x(post, a, b) where at_post(('q')::pg_catalog.text, (row('')::mbus4_hstore.given).value, null::mbus4_hstore.hstore, null::mbus4_hstore.hstore, null::timestamp without time zone, null::timestamp without time zone, null::pg_catalog.text, 3) is null

select * from rows from (mbus4.take(t.id), generate_series(1, 2)), t where mbus4.post('q', '') is null
----
select * from rows from (at_take((t.id)::pg_catalog.text, 1), generate_series(1, 2)) as "take", t where at_post(('q')::pg_catalog.text, (row('')::mbus4_hstore.given).value, null::mbus4_hstore.hstore, null::mbus4_hstore.hstore, null::timestamp without time zone, null::timestamp without time zone, null::pg_catalog.text, 2) is null

select mbus4.dyn_consume('q'), mbus4.dyn_consume('q', 'true') from t limit 1
----
select at_dyn_consume(('q')::pg_catalog.text, '(1=1)'::pg_catalog.text, 'default'::pg_catalog.text, 1) as "dyn_consume", at_dyn_consume(('q')::pg_catalog.text, ('true')::pg_catalog.text, 'default'::pg_catalog.text, 2) as "dyn_consume" from t limit 1

# a selector is checked all the same
select mbus4.create_consumer('q', 'c', $1) from t where false or mbus4.drop_consumer('q', 'c') is null
----
select at_create_consumer(('q')::pg_catalog.text, ('c')::pg_catalog.text, ($1)::pg_catalog.text, 'false'::boolean, 1) as "create_consumer" from t where false or at_drop_consumer(('q')::pg_catalog.text, ('c')::pg_catalog.text, 2) is null
selector $1 at 39

# statements of one text are served each in its way
select 1 from t where mbus4.post('q', '') is null; select mbus4.post('q', '')
----
select 1 from t where at_post(('q')::pg_catalog.text, (row('')::mbus4_hstore.given).value, null::mbus4_hstore.hstore, null::mbus4_hstore.hstore, null::timestamp without time zone, null::timestamp without time zone, null::pg_catalog.text, 1) is null; with mbus4_call2_args(n, "qname", "data", "headers", "properties", "delayed_until", "expires", "iid") as (select 1::bigint, ('q')::pg_catalog.text, (row('')::mbus4_hstore.given).value, null::mbus4_hstore.hstore, null::mbus4_hstore.hstore, null::timestamp without time zone, null::timestamp without time zone, null::pg_catalog.text), mbus4_call2 as (select * from served) select "post" as "post" from mbus4_call2

# the parser gives this subquery twice
update t set (a, b) = (select x, mbus4.post('q', '') from mbus4.take(t.name), mbus4.create_temporary_queue() x)
----
update t set (a, b) = (select x, at_post(('q')::pg_catalog.text, (row('')::mbus4_hstore.given).value, null::mbus4_hstore.hstore, null::mbus4_hstore.hstore, null::timestamp without time zone, null::timestamp without time zone, null::pg_catalog.text, 1) as "post" from at_take((t.name)::pg_catalog.text, 2) as "take", coalesce(native_create_temporary_queue()) x)

select * from t, mbus4.is_msg_exists(t.name) where mbus4.post('q', '') is null
----
select * from t, coalesce((select served_is_msg_exists((t.name)::pg_catalog.text) as "is_msg_exists")) as "is_msg_exists" where at_post(('q')::pg_catalog.text, (row('')::mbus4_hstore.given).value, null::mbus4_hstore.hstore, null::mbus4_hstore.hstore, null::timestamp without time zone, null::timestamp without time zone, null::pg_catalog.text, 2) is null

# calls without an effect in FROM of a subquery need no function
select 1 from t where exists (select from mbus4.is_msg_exists(t.name)) and (select iid from mbus4.peek(t.name) m) is null
----
select 1 from t where exists (select from coalesce((select served_is_msg_exists((t.name)::pg_catalog.text) as "is_msg_exists")) as "is_msg_exists") and (select iid from pg_catalog.unnest(array[(select served_peek((t.name)::pg_catalog.text) as "peek")::mbus4.qt_model]) m) is null

declare c cursor for select * from mbus4.peek('x'), mbus4.get_iid('q') with ordinality
----
declare c cursor for select * from pg_catalog.unnest(array[(select served_peek(('x')::pg_catalog.text) as "peek")::mbus4.qt_model]) as "peek", coalesce((drawn_for(('q')::pg_catalog.text))) with ordinality as "get_iid"

# beside a set of Postgres, and below OFFSET
select generate_series(1, 3), mbus4.post('q', '')
----
select generate_series(1, 3), at_post(('q')::pg_catalog.text, (row('')::mbus4_hstore.given).value, null::mbus4_hstore.hstore, null::mbus4_hstore.hstore, null::timestamp without time zone, null::timestamp without time zone, null::pg_catalog.text, 1) as "post"

select unnest(array[1, 2]) + length(mbus4.post('q', ''))
----
select unnest(array[1, 2]) + length(at_post(('q')::pg_catalog.text, (row('')::mbus4_hstore.given).value, null::mbus4_hstore.hstore, null::mbus4_hstore.hstore, null::timestamp without time zone, null::timestamp without time zone, null::pg_catalog.text, 1))

select mbus4.post('q', '') from t offset 2
----
select at_post(('q')::pg_catalog.text, (row('')::mbus4_hstore.given).value, null::mbus4_hstore.hstore, null::mbus4_hstore.hstore, null::timestamp without time zone, null::timestamp without time zone, null::pg_catalog.text, 1) as "post" from t offset 2

select generate_series(1, 3), (mbus4.consume('q')).iid, (select mbus4.post('q', ''))
----
with mbus4_call1_args(n, "qname", "cname") as (select 1::bigint, ('q')::pg_catalog.text, 'default'::pg_catalog.text), mbus4_call1 as (select * from served), mbus4_call2_args(n, "qname", "data", "headers", "properties", "delayed_until", "expires", "iid") as (select 1::bigint, ('q')::pg_catalog.text, (row('')::mbus4_hstore.given).value, null::mbus4_hstore.hstore, null::mbus4_hstore.hstore, null::timestamp without time zone, null::timestamp without time zone, null::pg_catalog.text), mbus4_call2 as (select * from served) select generate_series(1, 3), (pg_catalog.unnest(array(select "consume" from mbus4_call1))).iid, (select "post" as "post" from mbus4_call2)
