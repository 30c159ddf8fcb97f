-- As lease.sql, for one message of a queue that is the same for all rows of the statement, and as few expressions as will do: the server sets up each of them
-- at every call, which costs more than to evaluate them (docs/adr/0019-leases.md). The row comparison with
-- the hint is as in consume.sql: by another the planner sorts the whole backlog. Whether there is a consumer its ctid says, and not its id as in
-- part/consumer.sql: of a row that is asked for a system column the server does not describe all others. A lease that cannot be is an error also where nothing
-- is there to be leased.
{{- $queue := print "pg_catalog.lower((" (.Arg "qname") ") collate \"C\")"}}
{{.Call}}_leased as (
    update mbus4.message m
    set available_at = pg_catalog.clock_timestamp() + {{if .GivesLease}}{{template "lease_length" .With "Given" (print "(" (.Arg "lease") ")") "Args" "" "Row" "" "ID" "m.consumer_id"}}{{else}}{{template "lease_usual" .With "ID" "m.consumer_id"}}{{end}},
        iid = coalesce(m.iid, pg_catalog.concat({{$queue}}, '.', pg_catalog.current_database(), '.', {{template "near_place" .With "At" "m.available_at"}}, m.id)),
        headers = case when m.headers is null then {{template "first_attempt" .}}
                       else {{template "next_attempt" .With "Headers" "m.headers"}} end
    where m.ctid = (
        select x.ctid
        from (
            select case when c.ctid is null then {{.NoConsumer}}('{{.MarkOf "a"}}', a.qname, a.cname){{if .GivesLease}}
                        when (({{.Arg "lease"}}) between interval '1 millisecond' and interval '365 days') is false then (extract(epoch from {{template "lease_length" .With "Given" (print "(" (.Arg "lease") ")") "Args" "a" "Row" "" "ID" "c.id"}}))::bigint
                       {{end}} else {{.Receiver}} end as id, {{template "policy" .With "Row" "c" "What" "max_attempts"}} as most,
                   {{template "hint" .With "Number" "coalesce(c.hint, c.id % 128::bigint)"}} as low, pg_catalog.clock_timestamp() as now
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
              and {{template "deliverable_or_dead" .With "Row" "x" "Now" "k.now" "Most" "k.most"}}
            order by x.available_at, x.id
            limit 1
            for update skip locked
        ) x
    )
    returning {{.Kept "m"}}
),
{{.Call}} as (
    select 1::bigint as n, {{template "leased_row" .With "Row" "d" "Queue" $queue}} as lease
    from {{.Call}}_leased d
)
