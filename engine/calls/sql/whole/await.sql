-- Looks for a call that waits, and gives '' where there is a message for it, which it locks for the statement that follows in the same
-- transaction. Else it gives how long the call waits and what bounds that in the session: microseconds of wait, then statement_timeout,
-- idle_in_transaction_session_timeout and idle_session_timeout in milliseconds, and the isolation level. call is the call's mark, for errors; selector is
-- the condition of dyn_consume, or null. In PL/pgSQL, for its plans stay in the session.
create or replace function {{.Signature}} returns text language plpgsql volatile
set plan_cache_mode = force_generic_plan set jit = off
as $mbus4$
#variable_conflict use_column
declare
    mbus4_id bigint;
    mbus4_queue text;
    mbus4_low timestamptz;
    mbus4_now timestamptz;
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
    if $4 is null then
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
        select x.ctid into mbus4_found
        from mbus4.message x
        where x.ctid = any(mbus4.candidates(mbus4_queue, mbus4_id, mbus4_low, mbus4_now, $4, 128)) and x.consumer_id = mbus4_id
          and {{template "deliverable" .With "Row" "x" "Now" "mbus4_now"}}
        order by x.available_at, x.id
        limit 1
        for update skip locked;
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
