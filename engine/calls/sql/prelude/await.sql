-- The probe query of a call that waits: '' where the call is to run now, for there is a message that it locks for it. Else how long the call waits
-- and what bounds that, in the session: microseconds of wait, statement_timeout, idle_in_transaction_session_timeout and
-- idle_session_timeout in milliseconds, and the isolation level.
--
-- Parts: a scope, Queue, Consumer, Wait, Selector: literals, Select: there is a selector, Mark: of the errors.
with mbus4_call_args(n, qname, cname, wait, selector) as (
    select 1::bigint, {{.Queue}}::pg_catalog.text, {{.Consumer}}::pg_catalog.text, {{.Wait}}::interval, {{.Selector}}::pg_catalog.text
),
mbus4_call_consumer as materialized (
    select k.*{{if .Select}}, mbus4.candidates(k.queue, k.id, k.low, k.now, k.selector, 128) as tids{{end}}
    from (
        select {{template "consumer" .Parts.With "Args" "a" "ID" "c.id"}} as id, pg_catalog.clock_timestamp() as now, {{template "hint" .Parts.With "Number" "coalesce(c.hint, c.id % 128)"}} as low,
               c.qname as queue, a.selector, a.wait
        from mbus4_call_args a
        left join lateral (
            select * from mbus4.consumer c where c.qname = pg_catalog.lower(a.qname collate "C") and c.name = pg_catalog.lower(a.cname collate "C") offset 0
        ) c on true
        offset 0
    ) k
)
select case when w.wait is null or w.found is not null then ''
            else pg_catalog.concat_ws(' ', (pg_catalog.date_part('epoch', w.wait) * 1000000)::text,
                     pg_catalog.date_part('epoch', pg_catalog.current_setting('statement_timeout')::interval) * 1000,
                     pg_catalog.date_part('epoch', pg_catalog.current_setting('idle_in_transaction_session_timeout')::interval) * 1000,
                     pg_catalog.date_part('epoch', pg_catalog.current_setting('idle_session_timeout')::interval) * 1000,
                     pg_catalog.replace(pg_catalog.current_setting('transaction_isolation'), ' ', '_')) end
from (
    select k.wait, (
        select x.ctid
        from mbus4.message x
        where {{if .Select}}x.ctid = any(k.tids) and{{end}} x.consumer_id = k.id
          and (x.available_at, x.id) >= (k.low, 0)
          and x.available_at <= k.now
          and {{template "deliverable" .Parts.With "Row" "x" "Now" "k.now"}}
        order by x.available_at, x.id
        limit 1
        for update skip locked
    ) as found
    from mbus4_call_consumer k
) w
