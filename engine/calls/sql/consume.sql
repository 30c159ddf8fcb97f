-- At most amt messages, the longest deliverable first. The scan starts at the consumer's hint: what
-- lies below it is gone, though an old snapshot may keep its index entries (see engine/housekeeping/hinter.go). An array of
-- row addresses keeps the planner from guessing how many there are. The conditions are written so that
-- it takes most rows in the range for matches: else it fetches and sorts a whole backlog (see
-- TestConsumePlanIsStable). The consumer's id and the number of its hint are one number, so that one subquery gives both. The row is made last, so that of a row whose columns only are read nothing else is made.
{{- $queue := print "(select pg_catalog.lower(a.qname collate \"C\") from " .Call "_args a)"}}
{{- if .FixesQueue}}{{$queue = print "pg_catalog.lower((" (.Arg "qname") ") collate \"C\")"}}{{end}}
{{.Call}}_taken as (
    delete from mbus4.message m
    where m.ctid = any(array(
        select x.ctid
        from (
            select c.id >> 12 as id, c.amt, c.now, {{template "hint" .With "Number" "(c.id & 4095::bigint)"}} as low
            from (
                select {{template "consumer" .With "Args" "a" "ID" (print "(select " .Receiver ` << 12 | coalesce(c.hint, c.id % 128::bigint) from mbus4.consumer c where c.qname = pg_catalog.lower(a.qname collate "C") and c.name = pg_catalog.lower(a.cname collate "C"))`)}} as id,
                       {{if .Many}}{{template "amount" .With "Args" "a"}}{{else}}1{{end}} as amt,
                       pg_catalog.clock_timestamp() as now
                from {{.Call}}_args a
                offset 0
            ) c
            offset 0
        ) k
        cross join lateral (
            select x.ctid
            from mbus4.message x
            where x.consumer_id = k.id
              and (x.available_at, x.id) >= (k.low, 0)
              and x.available_at <= k.now
              and {{template "deliverable" .With "Row" "x" "Now" "k.now"}}
              {{if .Conditional}}{{template "meets" .With "Row" "x" "Queue" $queue}}{{end}}
            order by x.available_at, x.id
            limit k.amt
            for update skip locked
        ) x
    ))
    returning m.id, m.consumer_id, m.available_at, m.added, m.delayed_until, m.expires, m.received, m.headers, m.properties, m.data,
              {{if .Ordered}}{{template "row_iid" .With "Row" "m" "Queue" $queue}} as iid,
              case when (select 1 from mbus4.waiting g where g.dep = {{template "row_iid" .With "Row" "m" "Queue" $queue}} order by g.dep, g.consumer_id, g.id limit 1) is not null then mbus4.wake({{template "row_iid" .With "Row" "m" "Queue" $queue}}) end as woken
              {{- else}}m.iid{{end}}
),
{{.Call}} as (
    select 1::bigint as n, {{template "message" .With "Row" "d" "Queue" $queue}} as {{.Result}}
    from {{if .Many}}(select * from {{.Call}}_taken d order by d.available_at, d.id offset 0){{else}}{{.Call}}_taken{{end}} d
)
