package harness

// Shadow has a schema evil take the place of pg_catalog in front of it: every operator, and every
// function, of the types that statements of ours have to do with.
const Shadow = `
create schema evil;
grant usage on schema evil to public;
do $do$
declare
	r record;
	known oid[] := array['text', 'name', 'varchar', 'int2', 'int4', 'int8', 'bool', 'float8', 'numeric', 'timestamptz', 'timestamp', 'interval', 'jsonb', 'json', 'oid', 'regclass', 'text[]', 'xid8', 'xid', 'bytea']::regtype[]::oid[];
begin
	for r in select o.oid, o.oprname, o.oprleft, o.oprright, o.oprresult from pg_operator o
		where o.oprnamespace = 'pg_catalog'::regnamespace and o.oprleft = any (known || 0::oid) and o.oprright = any (known) and o.oprresult = any (known) loop
		execute format('create function evil.op%s(%s %s) returns %s language plpgsql as $f$ begin raise exception ''SHADOWED operator %s''; end $f$', r.oid,
			case when r.oprleft <> 0 then r.oprleft::regtype || ',' else '' end, r.oprright::regtype, r.oprresult::regtype, replace(r.oprname, '%', '%%'));
		execute format('create operator evil.%s (%s rightarg = %s, function = evil.op%s)', r.oprname, case when r.oprleft <> 0 then 'leftarg = ' || r.oprleft::regtype || ',' else '' end, r.oprright::regtype, r.oid);
	end loop;
	for r in select p.oid, p.proname, p.prorettype, pg_get_function_identity_arguments(p.oid) as args, p.proretset from pg_proc p
		where p.pronamespace = 'pg_catalog'::regnamespace and p.prokind = 'f' and p.prorettype = any (known) and p.proargtypes::oid[] <@ known and p.provariadic = 0 and p.proargmodes is null loop
		execute format('create function evil.%I(%s) returns %s %s language plpgsql as $f$ begin raise exception ''SHADOWED function %s''; end $f$', r.proname, r.args, case when r.proretset then 'setof' else '' end, r.prorettype::regtype, r.proname);
	end loop;
end
$do$`
