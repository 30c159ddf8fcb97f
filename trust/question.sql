-- What in schema mbus4, or of what it is made of, belongs to somebody whom the role of the session has no reason to trust.
-- Who it is is said by session_user, to which whatever runs can go back, and not by current_user, which the owner of a
-- database may choose (ALTER DATABASE ... SET role). All of it is read by one snapshot.
with me as materialized (
    select r.oid, r.rolname, r.rolsuper from pg_catalog.pg_roles r where r.rolname = session_user
), friends as materialized (
    select r.oid
    from pg_catalog.pg_roles r
    cross join me
    where r.rolsuper or r.oid = me.oid
       or exists ( -- granted to the role by somebody who could act as the role anyway
           select
           from pg_catalog.pg_auth_members m
           join pg_catalog.pg_roles g on g.oid = m.grantor
           where m.roleid = r.oid and m.member = me.oid
             and (g.rolsuper
                  or not me.rolsuper and case when pg_catalog.current_setting('server_version_num')::int >= 160000
                      then exists (select from pg_catalog.pg_auth_members a where a.roleid = me.oid and a.member = g.oid and a.admin_option)
                      else g.rolcreaterole end))
-- for persons
       or not me.rolsuper
          and (r.rolname = '‹admin›' -- the role of --admin
               or exists (
                   select
                   from pg_catalog.pg_auth_members m
                   join pg_catalog.pg_roles a on a.oid = m.roleid
                   where a.rolname = 'mbus4_admin' and m.member = r.oid and m.admin_option))
-- end
), house as materialized (
    select d.datdba, pg_catalog.pg_get_userbyid(d.datdba)::text as owner, o.oid as public_owner
    from pg_catalog.pg_database d
    left join pg_catalog.pg_roles o on o.rolname = 'pg_database_owner'
    where d.datname = pg_catalog.current_database()
), trusted as materialized (
    select f.oid from friends f
    union all
    select h.public_owner from house h join friends f on f.oid = h.datdba
), home as materialized (
    select n.oid from pg_catalog.pg_namespace n where n.nspname in ('mbus4', 'mbus4_hstore')
), thing (place, kind, oid, owner) as materialized (
    select 2, 'pg_catalog.pg_class'::pg_catalog.regclass, c.oid, c.relowner
    from pg_catalog.pg_class c where c.relnamespace in (select oid from home)
    union all
    select 3, 'pg_catalog.pg_proc'::pg_catalog.regclass, p.oid, p.proowner
    from pg_catalog.pg_proc p where p.pronamespace in (select oid from home)
    union all
    select 4, 'pg_catalog.pg_operator'::pg_catalog.regclass, o.oid, o.oprowner
    from pg_catalog.pg_operator o where o.oprnamespace in (select oid from home)
    union all
    select 5, 'pg_catalog.pg_type'::pg_catalog.regclass, t.oid, t.typowner
    from pg_catalog.pg_type t where t.typnamespace in (select oid from home)
), part (kind, oid) as (
    select t.kind, t.oid from thing t
    union all
    select 'pg_catalog.pg_trigger'::pg_catalog.regclass, g.oid
    from pg_catalog.pg_trigger g join thing t on t.place = 2 and t.oid = g.tgrelid
    union all
    select 'pg_catalog.pg_rewrite'::pg_catalog.regclass, r.oid
    from pg_catalog.pg_rewrite r join thing t on t.place = 2 and t.oid = r.ev_class
    union all
    select 'pg_catalog.pg_attrdef'::pg_catalog.regclass, a.oid
    from pg_catalog.pg_attrdef a join thing t on t.place = 2 and t.oid = a.adrelid
    union all
    select 'pg_catalog.pg_policy'::pg_catalog.regclass, l.oid
    from pg_catalog.pg_policy l join thing t on t.place = 2 and t.oid = l.polrelid
    union all
    select 'pg_catalog.pg_constraint'::pg_catalog.regclass, k.oid
    from pg_catalog.pg_constraint k join thing t on t.place = 2 and t.oid = k.conrelid
    union all
    select 'pg_catalog.pg_constraint'::pg_catalog.regclass, k.oid
    from pg_catalog.pg_constraint k join thing t on t.place = 5 and t.oid = k.contypid
), used as materialized ( -- by what is ours
    select distinct d.refclassid as kind, d.refobjid as oid
    from part p
    join pg_catalog.pg_depend d on d.classid = p.kind and d.objid = p.oid
    where not exists (select from thing t where t.kind = d.refclassid and t.oid = d.refobjid)
)
select me.rolname::text, pg_catalog.current_database()::text, pg_catalog.current_setting('transaction_read_only'),
       case when exists (select from pg_catalog.pg_namespace n where n.nspname = 'mbus4') then '' else 'absent' end,
       coalesce(x.what, ''), coalesce(x.whose, ''), coalesce(x.mend, '')
from me
left join lateral (
    select x.what, x.mend, case x.owner when 0 then 'public' when h.public_owner then h.owner else pg_catalog.pg_get_userbyid(x.owner)::text end as whose
    from (
        select 1 as place, 'schema ' || n.nspname as what, n.nspowner as owner, '' as mend
        from pg_catalog.pg_namespace n where n.nspname in ('mbus4', 'mbus4_views', 'mbus4_hstore')
        union all
        select t.place, case t.place
            when 2 then 'relation ' || t.oid::pg_catalog.regclass
            when 3 then 'function ' || t.oid::pg_catalog.regprocedure
            when 4 then 'operator ' || t.oid::pg_catalog.regoperator
            else 'type ' || pg_catalog.format_type(t.oid, null) end, t.owner, '' from thing t
        union all
        select 6, 'function ' || p.oid::pg_catalog.regprocedure || ', which schema mbus4 uses,', p.proowner, ''
        from used u join pg_catalog.pg_proc p on p.oid = u.oid where u.kind = 'pg_catalog.pg_proc'::pg_catalog.regclass
        union all
        select 7, 'type ' || pg_catalog.format_type(t.oid, null) || ', which schema mbus4 uses,', t.typowner, ''
        from used u join pg_catalog.pg_type t on t.oid = u.oid where u.kind = 'pg_catalog.pg_type'::pg_catalog.regclass
        union all
        select 8, 'operator ' || o.oid::pg_catalog.regoperator || ', which schema mbus4 uses,', o.oprowner, ''
        from used u join pg_catalog.pg_operator o on o.oid = u.oid where u.kind = 'pg_catalog.pg_operator'::pg_catalog.regclass
        union all
        select 9, 'relation ' || c.oid::pg_catalog.regclass || ', which schema mbus4 uses,', c.relowner, ''
        from used u join pg_catalog.pg_class c on c.oid = u.oid where u.kind = 'pg_catalog.pg_class'::pg_catalog.regclass
        union all
        select 10, 'collation ' || c.oid::pg_catalog.regcollation || ', which schema mbus4 uses,', c.collowner, ''
        from used u join pg_catalog.pg_collation c on c.oid = u.oid where u.kind = 'pg_catalog.pg_collation'::pg_catalog.regclass
        union all
        select 11, 'operator class ' || pg_catalog.quote_ident(c.opcname) || ', which schema mbus4 uses,', c.opcowner, ''
        from used u join pg_catalog.pg_opclass c on c.oid = u.oid where u.kind = 'pg_catalog.pg_opclass'::pg_catalog.regclass
-- for persons
        union all
        select 12, 'the right to create in schema ' || n.nspname, a.grantee, 'revoke create on schema ' || n.nspname || ' from '
        from pg_catalog.pg_namespace n
        cross join lateral pg_catalog.aclexplode(n.nspacl) a
        where n.nspname in ('mbus4', 'mbus4_hstore') and a.privilege_type = 'CREATE'
        union all
        select 13, 'the right to make triggers on ' || c.oid::pg_catalog.regclass, a.grantee, 'revoke trigger on all tables in schema mbus4 from '
        from thing t
        join pg_catalog.pg_class c on c.oid = t.oid
        cross join lateral pg_catalog.aclexplode(c.relacl) a
        where t.place = 2 and a.privilege_type = 'TRIGGER' and pg_catalog.current_setting('transaction_read_only') = 'off' -- else none is run
-- end
    ) x
    cross join house h
    where x.owner not in (select t.oid from trusted t where t.oid is not null)
    order by x.place, x.what
    limit 1
) x on true
