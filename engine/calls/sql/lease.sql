-- As consumen, but the messages stay: each is moved to where its lease ends, in the same range of the primary key, and its attempt is counted in its
-- headers. Its iid no longer follows from where it stands, so it is stored. A plan finds the rows as in consume.sql. Rows only move on in
-- time, and what they were is visible until that is committed, so no hint can pass them (see engine/housekeeping/hinter.go).
{{- $queue := print "(select k.queue from " .Call "_consumer k)"}}
{{.Call}}_consumer as materialized (
    select {{template "consumer" .With "Args" "a" "ID" .Receiver}} as id, c.qname as queue, coalesce(c.hint, c.id % 128::bigint) as hint, {{if .GivesAmount}}{{template "amount" .With "Args" "a"}}{{else}}1{{end}} as amt,
           {{template "lease_length" .With "Given" "a.lease" "Args" "a" "Row" "c"}} as lease, {{template "policy" .With "Row" "c" "What" "max_attempts"}} as most,
           pg_catalog.clock_timestamp() as now, {{template "told" .}} as told
    from {{.Call}}_args a
    left join mbus4.consumer c on c.qname = pg_catalog.lower(a.qname collate "C") and c.name = pg_catalog.lower(a.cname collate "C")
    offset 0
),
{{.Call}}_leased as (
    update mbus4.message m
    set available_at = (select k.now + k.lease from {{.Call}}_consumer k),
        iid = {{template "row_iid" .With "Row" "m" "Queue" $queue}},
        headers = {{template "attempted" .With "Headers" "m.headers" "Time" (print "(select k.told from " .Call "_consumer k)")}}
    where m.ctid = any(array(
        select x.ctid
        from (select k.*, {{template "hint" .With "Number" "k.hint"}} as low from {{.Call}}_consumer k offset 0) k
        cross join lateral (
            select x.ctid
            from mbus4.message x
            where x.consumer_id = k.id
              and (x.available_at, x.id) >= (k.low, 0)
              and x.available_at <= k.now
              and {{template "deliverable_or_dead" .With "Row" "x" "Now" "k.now" "Most" "k.most"}}
            order by x.available_at, x.id
            limit k.amt
            for update skip locked
        ) x
    ))
    returning m.id, m.consumer_id, m.available_at, m.added, m.delayed_until, m.expires, m.received, m.headers, m.properties, m.data, m.iid
),
{{.Call}} as (
    select 1::bigint as n, {{template "leased_row" .With "Row" "d" "Queue" $queue}} as lease
    from {{if .GivesAmount}}(select * from {{.Call}}_leased d order by greatest(d.delayed_until, d.added), d.id offset 0){{else}}{{.Call}}_leased{{end}} d
)
