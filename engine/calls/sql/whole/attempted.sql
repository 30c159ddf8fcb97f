-- The headers of a message that has some at which the next attempt begins. call is not used.
create or replace function {{.Signature}} returns {{.HstoreType}} language plpgsql volatile
set plan_cache_mode = force_generic_plan set jit = off
as $mbus4$
declare
    mbus4_told constant text := {{template "told" .}};
begin
    return {{template "attempted" .With "Headers" "$2" "Time" "mbus4_told"}};
end
$mbus4$
