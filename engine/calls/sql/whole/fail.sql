-- Moves the message of a lease to dmq. False where the lease is gone. call is the call's mark.
create or replace function {{.Signature}} returns boolean language plpgsql volatile
set plan_cache_mode = force_generic_plan set jit = off
as $mbus4$
#variable_conflict use_column
declare
    mbus4_part constant text[] := {{template "lease_parts" .With "Lease" "$2" "Args" ""}};
    mbus4_row mbus4.message;
begin
    select m.* into mbus4_row
    from mbus4.message m
    where m.consumer_id = mbus4_part[1]::bigint and m.available_at = {{template "lease_end" .With "Part" "mbus4_part[4]"}} and m.id = mbus4_part[2]::bigint
      and {{template "held" .With "Row" "m" "Attempt" "mbus4_part[3]"}}
    for update;
    return found and {{.Spent}}($1, mbus4_row.consumer_id, mbus4_row.available_at, mbus4_row.id, coalesce(pg_catalog.left($3, 2000), 'failed without an error'));
end
$mbus4$
