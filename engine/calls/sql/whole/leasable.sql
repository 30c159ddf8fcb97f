-- Whether a message in the range of deliverable ones may be leased, which expires, waits for others or was leased before: not null if so. One whose
-- attempts are used up goes to dmq instead; without an attempt it has made none, and its consumer need not be asked. call is the call's mark.
create or replace function {{.Signature}} returns int language plpgsql volatile
set plan_cache_mode = force_generic_plan set jit = off
as $mbus4$
#variable_conflict use_column
declare
    mbus4_row constant mbus4.message := $2;
    mbus4_most int := 1;
begin
    if {{.Hstore}}.exist(mbus4_row.headers, 'retry.attempt') then
        mbus4_most := coalesce((select {{template "policy" .With "Row" "c" "What" "max_attempts"}} from mbus4.consumer c where c.id = mbus4_row.consumer_id), 1);
    end if;
    return case when {{template "deliverable_or_dead" .With "Row" "mbus4_row" "Now" "$3" "Most" "mbus4_most"}} then 0 end;
end
$mbus4$
