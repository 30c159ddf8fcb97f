-- As lease.sql, for one message of a queue that is the same for all rows of the statement, and as few expressions as will do: the server sets up each of them
-- at every call, which costs more than to evaluate them (docs/adr/0019-leases.md). What few messages need is done by functions.
{{- $queue := print "pg_catalog.lower((" (.Arg "qname") ") collate \"C\")"}}
{{.Call}}_leased as (
    update mbus4.message m
    set available_at = pg_catalog.clock_timestamp() + {{if .GivesLease}}{{template "lease_length" .With "Given" (print "(" (.Arg "lease") ")") "Args" "" "Row" "" "ID" "m.consumer_id"}}{{else}}{{template "lease_usual" .With "ID" "m.consumer_id"}}{{end}},
        iid = coalesce(m.iid, {{$queue}} || '.' || pg_catalog.current_database() || '.' || {{template "near_place" .With "At" "m.available_at"}} || m.id),
        headers = case when m.headers is null then (select {{template "first_attempt" .With "Time" "t.told"}} from (select {{template "told" .}} as told offset 0) t)
                       else {{.Attempted}}('', m.headers) end
    where m.ctid = (
        select x.ctid
        from (
            select {{template "consumer" .With "Args" "a" "ID" .Receiver}} as id, {{template "hint" .With "Number" "coalesce(c.hint, c.id % 128)"}} as low,
                   {{template "policy" .With "Row" "c" "What" "max_attempts"}} as most, pg_catalog.clock_timestamp() as now
            from {{.Call}}_args a
            left join mbus4.consumer c on c.qname = pg_catalog.lower(a.qname collate "C") and c.name = pg_catalog.lower(a.cname collate "C")
            offset 0
        ) k
        cross join lateral (
            select x.ctid
            from mbus4.message x
            where x.consumer_id = k.id
              and (x.available_at, x.id) >= (k.low, 0)
              and x.available_at <= k.now
              and (case when x.expires is null and x.after is null and (x.headers is null or not {{.Hstore}}.exist(x.headers, 'retry.attempt')) then 0
                        else {{.Leasable}}('{{.Mark}}', x.consumer_id, x.available_at, x.id, x.expires, x.after, x.headers, k.now, k.most) end) is not null
            order by x.available_at, x.id
            limit 1
            for update skip locked
        ) x
    )
    returning m.id, m.consumer_id, m.available_at, m.added, m.delayed_until, m.expires, m.received, m.headers, m.properties, m.data, m.iid
),
{{.Call}} as (
    select 1::bigint as n, {{template "leased_row" .With "Row" "d" "Queue" $queue}} as lease
    from {{.Call}}_leased d
)
