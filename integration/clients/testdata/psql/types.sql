create table item (id int primary key, name text, tags text[], doc jsonb, at timestamptz, raw bytea, price numeric(10,2));
insert into item values (1, 'one', '{a,NULL,"b,c"}', '{"k": [1, 2]}', '2026-01-02 03:04:05+00', '\x00ff27', 12.5),
  (2, null, null, null, null, null, null) returning *;
select * from item \gdesc
select a.id, b.name, coalesce(b.price, 0) from item a left join item b on a.id = b.id + 1 order by 1;
\x on
select * from item where id = 1;
\x off
\pset format csv
\pset null NULL
select * from item order by id;
\pset format aligned
set timezone = 'Asia/Tokyo';
select at, at::date from item where id = 1;
set datestyle = 'German';
select at from item where id = 1;
set client_encoding = 'LATIN1';
select octet_length('ab'), chr(233) = U&'\00e9';
reset all;
select 'first' as a \; select 'second' as b \; select 3 as c;
select id as item_id from item order by id desc limit 1 \gset
\echo :item_id
select format('select %L as made', n) from generate_series(1, 3) n \gexec
\d item
\crosstabview
select 1 as x, 2 as y, 3 as z \crosstabview
prepare by_id(int) as select name from item where id = $1;
execute by_id(1);
deallocate by_id;
execute by_id(1);
