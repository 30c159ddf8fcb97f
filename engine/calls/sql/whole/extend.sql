-- Moves the message of a lease on to where the lease is to end now, and gives the lease's new name; null where the lease is gone. call is the call's
-- mark. The id, which is not used, comes before the clock, for the lease may end earlier than it would have.
create or replace function {{.Signature}} returns text language sql volatile
set enable_seqscan = off set enable_bitmapscan = off set enable_hashjoin = off set enable_mergejoin = off set jit = off
as $mbus4$
    with named as materialized (
        select {{template "lease_parts" .With "Lease" "$2" "Args" ""}} as part
    ), given as materialized (
        select n.part, {{template "lease_length" .With "Given" "$3" "Args" "" "Row" "c"}} as length, c.id, c.qname
        from named n
        left join mbus4.consumer c on c.id = n.part[1]::bigint
    ), drawn as materialized (
        select g.part, g.length, g.id, {{template "message_id" .With "Queue" "g.qname" "Once" ""}} as new
        from given g
        where g.id is not null
    )
    update mbus4.message m
    set available_at = case when d.new > 0 then pg_catalog.clock_timestamp() + d.length end
    from drawn d
    where m.consumer_id = d.id and m.available_at = {{template "lease_end" .With "Part" "d.part[4]"}} and m.id = d.part[2]::bigint
      and {{template "held" .With "Row" "m" "Attempt" "d.part[3]"}}
    returning {{template "lease_name" .With "Row" "m"}}
$mbus4$
