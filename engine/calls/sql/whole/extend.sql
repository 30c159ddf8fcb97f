-- Moves the message of a lease on to where the lease is to end now, and gives the lease's new name; null where the lease is gone. call is the call's
-- mark. The id, which is not used, comes before the clock, for the lease may end earlier than it would have.
create or replace function {{.Signature}} returns text language plpgsql volatile
set plan_cache_mode = force_generic_plan set jit = off
as $mbus4$
#variable_conflict use_column
declare
    mbus4_part constant text[] := {{template "lease_parts" .With "Lease" "$2" "Args" ""}};
    mbus4_consumer mbus4.consumer;
    mbus4_length interval;
    mbus4_drawn bigint;
    mbus4_lease text;
begin
    select c.* into mbus4_consumer from mbus4.consumer c where c.id = mbus4_part[1]::bigint;
    mbus4_length := {{template "lease_length" .With "Given" "$3" "Args" "" "Row" "mbus4_consumer"}};
    if mbus4_consumer.id is null then
        return null;
    end if;
    mbus4_drawn := {{template "message_id" .With "Queue" "mbus4_consumer.qname" "Once" ""}};
    update mbus4.message m
    set available_at = pg_catalog.clock_timestamp() + mbus4_length
    where m.consumer_id = mbus4_part[1]::bigint and m.available_at = {{template "lease_end" .With "Part" "mbus4_part[4]"}} and m.id = mbus4_part[2]::bigint
      and {{template "held" .With "Row" "m" "Attempt" "mbus4_part[3]"}}
    returning {{template "lease_name" .With "Row" "m"}} into mbus4_lease;
    return mbus4_lease;
end
$mbus4$
