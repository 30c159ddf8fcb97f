create table item (id int, name text);
\copy item from stdin
1	one
2	\N
3	with\ttab
\.
copy item from stdin with (format csv);
4,"four, five"
5,
\.
\copy (select * from item order by id) to stdout
copy item to stdout with (format csv, header);
\copy item to 'item.tsv'
truncate item;
\copy item from 'item.tsv'
select count(*), max(length(name)) from item;
\copy item from stdin
x	not a number
\.
copy nosuch to stdout;
copy (select n, repeat('x', 1000) from generate_series(1, 3000) n) to stdout \g big.tsv
\! wc -c < big.tsv
create table big (n int, pad text);
\copy big from 'big.tsv'
select count(*), sum(n), sum(length(pad)) from big;
\lo_import big.tsv
select count(*), sum(length(data)) from pg_largeobject;
