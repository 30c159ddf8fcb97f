-- Looks for a call that waits, and gives '' where there is a message for it, which it locks for the statement that follows in the same
-- transaction. Else it gives how long the call waits and what bounds that in the session: microseconds of wait, then statement_timeout,
-- idle_in_transaction_session_timeout and idle_session_timeout in milliseconds, and the isolation level. call is the call's mark, for errors; selector is
-- the condition of dyn_consume, or null; amt and lease are what the call says, whose mistakes are told before it waits; leases says that it makes leases: then a
-- message whose attempts are used up goes to dmq here, for in the statement that would end the wait with nothing. In PL/pgSQL, for its plans stay in the session.
create or replace function {{.Signature}} returns text language plpgsql volatile
set plan_cache_mode = force_generic_plan set jit = off
as $mbus4$
#variable_conflict use_column
declare
    mbus4_id bigint;
    mbus4_queue text;
    mbus4_low timestamptz;
    mbus4_now timestamptz;
    mbus4_most bigint := 128;
    mbus4_tids tid[];
    mbus4_found tid;
begin
    select {{template "consumer" .With "Args" "a" "ID" .Receiver}}, c.qname, {{template "hint" .With "Number" "coalesce(c.hint, c.id % 128)"}}, pg_catalog.clock_timestamp()
    into mbus4_id, mbus4_queue, mbus4_low, mbus4_now
    from (select $2 as qname, $3 as cname offset 0) a
    left join lateral (
        select * from mbus4.consumer c where c.qname = pg_catalog.lower(a.qname collate "C") and c.name = pg_catalog.lower(a.cname collate "C") offset 0
    ) c on true;
    if $5 is null then
        return '';
    end if;
    if $6 < 0 then
        perform {{template "amount" .With "Args" "a"}} from (select $6 as amt) a;
    end if;
    if ($7 between interval '1 millisecond' and interval '365 days') is false then
        perform {{template "lease_length" .With "Given" "$7" "Args" "a" "Row" "" "ID" "0"}};
    end if;
    if $8 then
        select x.ctid into mbus4_found
        from mbus4.message x
        where x.consumer_id = mbus4_id
          and (x.available_at, x.id) >= (mbus4_low, 0)
          and x.available_at <= mbus4_now
          and (case when x.expires is null and x.after is null and {{.Hstore}}.exist(x.headers, 'retry.attempt') is not true then 0
                    else {{.Leasable}}($1, x, mbus4_now) end) is not null
        order by x.available_at, x.id
        limit 1
        for update skip locked;
    elsif $4 is null then
        select x.ctid into mbus4_found
        from mbus4.message x
        where x.consumer_id = mbus4_id
          and (x.available_at, x.id) >= (mbus4_low, 0)
          and x.available_at <= mbus4_now
          and {{template "deliverable" .With "Row" "x" "Now" "mbus4_now"}}
        order by x.available_at, x.id
        limit 1
        for update skip locked;
    else
        -- Where others hold the first that meet the selector, or these wait for others, it is asked for all.
        loop
            mbus4_tids := mbus4.candidates(mbus4_queue, mbus4_id, mbus4_low, mbus4_now, $4, mbus4_most);
            select x.ctid into mbus4_found
            from mbus4.message x
            where x.ctid = any(mbus4_tids) and x.consumer_id = mbus4_id
              and {{template "deliverable" .With "Row" "x" "Now" "mbus4_now"}}
            order by x.available_at, x.id
            limit 1
            for update skip locked;
            exit when mbus4_found is not null or pg_catalog.cardinality(mbus4_tids) < mbus4_most;
            mbus4_most := 1000000000;
        end loop;
    end if;
    if mbus4_found is not null then
        return '';
    end if;
    return pg_catalog.concat_ws(' ', pg_catalog.date_part('epoch', $5) * 1000000,
        pg_catalog.date_part('epoch', pg_catalog.current_setting('statement_timeout')::interval) * 1000,
        pg_catalog.date_part('epoch', pg_catalog.current_setting('idle_in_transaction_session_timeout')::interval) * 1000,
        pg_catalog.date_part('epoch', pg_catalog.current_setting('idle_session_timeout')::interval) * 1000,
        pg_catalog.replace(pg_catalog.current_setting('transaction_isolation'), ' ', '_'));
end
$mbus4$
