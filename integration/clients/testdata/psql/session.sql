select current_user, session_user, inet_client_addr() is not null as over_tcp;
show application_name;
set application_name = 'renamed';
show application_name;
create temp sequence round;
select 6 / (4 - nextval('round')) as left
\watch 0.01
\echo :LAST_ERROR_MESSAGE
begin isolation level serializable read only;
show transaction_isolation;
create table refused (x int);
rollback;
begin;
declare c cursor for select n from generate_series(1, 10) n;
fetch 3 from c;
move 2 in c;
fetch all in c;
close c;
commit;
listen news;
\o /dev/null
notify news, 'hello';
select 1;
\o
explain (costs off) select * from generate_series(1, 3) n where n > 1;
\timing off
\conninfo_is_not_a_command
\set FETCH_COUNT 100
select n from generate_series(1, 250) n;
\unset FETCH_COUNT
vacuum;
create table t as select 1 as x;
select * from t;
drop table t;
discard all;
select count(*) from pg_prepared_statements;
