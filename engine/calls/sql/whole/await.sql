-- Looks for a call that waits, and gives '' where there is a message for it, which it locks for the statement that follows in the same
-- transaction. Else it gives how long the call waits and what bounds that in the session: microseconds of wait, then statement_timeout,
-- idle_in_transaction_session_timeout and idle_session_timeout in milliseconds, and the isolation level. call is the call's mark, for errors; selector is
-- the condition of dyn_consume, or null; amt and lease are what the call says, whose mistakes are told before it waits; leases says that it makes leases: then a
-- message whose attempts are used up goes to dmq here, for in the statement that would end the wait with nothing.
--
-- The first that meet a selector are asked for as in dyn_consume.sql: where others hold those, or they wait for others, all are.
create or replace function {{.Signature}} returns text language sql volatile
set enable_seqscan = off set enable_bitmapscan = off set jit = off
as $mbus4$
    with mbus4_consumer as materialized (
        select {{template "consumer" .With "Args" "a" "ID" .Receiver}} as id, c.qname as queue, {{template "hint" .With "Number" "coalesce(c.hint, c.id % 128::bigint)"}} as low,
               pg_catalog.clock_timestamp() as now, {{template "policy" .With "Row" "c" "What" "max_attempts"}} as most, {{template "amount" .With "Args" "a"}} as amt,
               {{template "lease_length" .With "Given" "$7" "Args" "a" "Row" "c"}} as lease
        from (select $2 as qname, $3 as cname, $6 as amt offset 0) a
        left join mbus4.consumer c on c.qname = pg_catalog.lower(a.qname collate "C") and c.name = pg_catalog.lower(a.cname collate "C")
        offset 0
    ), mbus4_few as materialized (
        select mbus4.candidates(k.queue, k.id, k.low, k.now, $4, 128) as tids from mbus4_consumer k where $4 is not null
    ), mbus4_found as materialized (
        select {{template "first_free" .With "Call" "mbus4" "Tids" "select f.tids from mbus4_few f"}} as tids from mbus4_few
        union all
        select (
            select array[x.ctid]
            from mbus4.message x
            where x.consumer_id = k.id
              and (x.available_at, x.id) >= (k.low, 0)
              and x.available_at <= k.now
              and case when $8 then {{template "deliverable_or_dead" .With "Row" "x" "Now" "k.now" "Most" "k.most"}}
                       else {{template "deliverable" .With "Row" "x" "Now" "k.now"}} end
            order by x.available_at, x.id
            limit 1
            for update skip locked
        )
        from mbus4_consumer k
        where $4 is null
    ), mbus4_more as materialized (
        select {{template "first_free" .With "Call" "mbus4" "Tids" "select mbus4.candidates(k.queue, k.id, k.low, k.now, $4, 1000000000) from mbus4_consumer k"}} as tids
        from mbus4_few w
        cross join mbus4_found f
        where pg_catalog.cardinality(w.tids) = 128 and f.tids is null
    )
    select case when exists (select from (select f.tids from mbus4_found f union all select m.tids from mbus4_more m) f where f.tids is not null) then ''
                else {{template "wait_bounds" .}} end
$mbus4$
