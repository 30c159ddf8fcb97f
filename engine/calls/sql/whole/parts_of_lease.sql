-- The parts of a lease's name that is longer than most, or the error that it is none. call is the call's mark.
create or replace function {{.Signature}} returns text[] language plpgsql volatile
set plan_cache_mode = force_generic_plan set jit = off
as $mbus4$
begin
    if $2 operator(pg_catalog.~) '^[0-9]{1,18}[.][0-9]{1,18}[.][0-9]{1,8}[.][0-9]{16}$' then
        return pg_catalog.string_to_array($2, '.');
    end if;
    return pg_catalog.left(pg_catalog.format('mbus4-error {{.Mark}} 22023 "%s" is not a lease', $2), 2000)::int::text::text[];
end
$mbus4$
