-- Ids that no client can use up. A text/template as the others.

-- Each temporary queue takes some, also one that is rolled back.
alter table mbus4.queue alter column id type bigint;
alter table mbus4.consumer alter column id type bigint, alter column queue_id type bigint;
alter table mbus4.message alter column consumer_id type bigint;
alter table mbus4.waiting alter column consumer_id type bigint;

-- Both were written anew. Some pages that stay, as in the first step.
insert into mbus4.message (id, consumer_id, available_at, added, iid, data)
select -n, 0, '-infinity', now(), 'page ' || n, {{.Hstore}}.hstore('', repeat(md5(n::text), 32))
from generate_series(1, 400) n;
delete from mbus4.message where consumer_id = 0 and id < 0;
insert into mbus4.waiting (dep, consumer_id, id) select repeat(md5(n::text), 20), 0, -n from generate_series(1, 400) n;
delete from mbus4.waiting where consumer_id = 0 and id < 0;

-- The functions that take or give such ids, whatever their texts are by now.
do $do$
declare
    f record;
begin
    perform set_config('check_function_bodies', 'off', true); -- they call one another
    for f in
        select p.oid::regprocedure as signature, d.def, strpos(d.def, 'AS $function$') as body
        from pg_proc p
        cross join lateral (select pg_get_functiondef(p.oid) as def) d
        where p.pronamespace = 'mbus4'::regnamespace and p.prokind = 'f'
          and p.proargnames && array['consumer_id', 'consumers']
    loop
        execute 'drop function ' || f.signature;
        execute replace(replace(replace(left(f.def, f.body - 1),
                    'consumer_id integer', 'consumer_id bigint'),
                    'consumers integer[]', 'consumers bigint[]'),
                    'RETURNS integer[]', 'RETURNS bigint[]')
                || substr(f.def, f.body);
    end loop;
    perform set_config('check_function_bodies', 'on', true);
end
$do$;
