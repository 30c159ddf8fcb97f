-- The parts of a lease's name that is longer than most, or the error that it is none. call is the call's mark. The LIMIT keeps the planner from
-- putting the body in the place of a call, of which there is nearly never one.
create or replace function {{.Signature}} returns text[] language sql volatile
as $mbus4$
    select case when $2 operator(pg_catalog.~) '^[0-9]{1,18}[.][0-9]{1,18}[.][0-9]{1,8}[.][0-9]{16}$' then pg_catalog.string_to_array($2, '.')
                else pg_catalog.left(pg_catalog.format('mbus4-error {{.Mark}} 22023 "%s" is not a lease', $2), 2000)::int::pg_catalog.text::pg_catalog.text[] end
    limit 1
$mbus4$
