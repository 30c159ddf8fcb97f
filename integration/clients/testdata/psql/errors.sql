create table item (id int primary key check (id > 0), name text);
select 1 +;
select id, nosuch from item;
select id,
       name,
       nosuch
  from item;
select 'ä', "ö" from item;
insert into item values (1, 'a'), (1, 'b');
insert into item values (-1, 'a');
select 1/0;
select * from nosuch.table;
selct 1;
\set VERBOSITY verbose
select nosuch from item;
\set VERBOSITY sqlstate
select nosuch from item;
\set VERBOSITY default
do $$ begin raise exception 'told so' using hint = 'do not', detail = 'why', errcode = 'P0042'; end $$;
do $$ begin raise notice 'noticed'; raise warning 'warned'; end $$;
begin;
savepoint a;
select nosuch;
select 1;
rollback to a;
select 'alive';
select nosuch;
commit;
select 'after';
\set ON_ERROR_ROLLBACK on
begin;
select nosuch;
select 'still alive';
commit;
select 1; select nosuch; select 3;
