-- Moves the message of a lease to dmq. False where the lease is gone. call is the call's mark.
create or replace function {{.Signature}} returns boolean language sql volatile
set enable_seqscan = off set enable_bitmapscan = off set enable_hashjoin = off set enable_mergejoin = off set jit = off
as $mbus4$
    with named as materialized (
        select {{template "lease_parts" .With "Lease" "$2" "Args" ""}} as part
    ), leased as materialized (
        select m.consumer_id, m.available_at, m.id
        from named n
        join mbus4.message m on m.consumer_id = n.part[1]::bigint and m.available_at = {{template "lease_end" .With "Part" "n.part[4]"}} and m.id = n.part[2]::bigint
        where {{template "held" .With "Row" "m" "Attempt" "n.part[3]"}}
        for update of m
    )
    select coalesce((select {{.Spent}}($1, l.consumer_id, l.available_at, l.id, coalesce(pg_catalog.left($3, 2000), 'failed without an error')) from leased l), false)
$mbus4$
