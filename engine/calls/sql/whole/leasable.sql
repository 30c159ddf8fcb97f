-- Whether a message in the range of deliverable ones may be leased, which expires, waits for others or was leased before: not null if so. One whose
-- attempts are used up goes to dmq instead. call is the call's mark.
create or replace function {{.Signature}} returns int language plpgsql volatile
set plan_cache_mode = force_generic_plan set jit = off
as $mbus4$
#variable_conflict use_column
declare
    mbus4_row mbus4.message;
begin
    mbus4_row.consumer_id := $2;
    mbus4_row.available_at := $3;
    mbus4_row.id := $4;
    mbus4_row.expires := $5;
    mbus4_row.after := $6;
    mbus4_row.headers := $7;
    return case when {{template "deliverable_or_dead" .With "Row" "mbus4_row" "Now" "$8" "Most" "$9"}} then 0 end;
end
$mbus4$
