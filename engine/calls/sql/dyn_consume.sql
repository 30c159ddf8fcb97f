-- As consume.sql, with a selector that is known only now. mbus4.candidates only reads, so it gives the
-- addresses of a few messages to choose from; where others hold all of those, it is asked for more, and then for
-- all. The first time it is spelled out, which saves planning its body.
{{- $queue := print "(select k.queue from " .Call "_consumer k)"}}
{{- $few := print "select k.tids from " .Call "_consumer k"}}
{{- $more := print "select w.tids from " .Call "_more w"}}
{{- $all := print "select mbus4.candidates(k.queue, k.id, k.low, k.now, k.selector, 1000000000) from " .Call "_consumer k, " .Call "_more w where pg_catalog.cardinality(w.tids) = 128"}}
{{.Call}}_consumer as materialized (
    select k.*, array(select w.word::pg_catalog.text::pg_catalog.tid from pg_catalog.ts_stat(mbus4.candidates_sql(k.queue, k.id, k.low, k.now, k.selector, 16)) w) as tids
    from (
        select {{template "consumer" .With "Args" "a" "ID" .Receiver}} as id, pg_catalog.clock_timestamp() as now, {{template "hint" .With "Number" "coalesce(c.hint, c.id % 128::bigint)"}} as low, c.qname as queue, a.selector
        from {{.Call}}_args a
        left join mbus4.consumer c on c.qname = pg_catalog.lower(a.qname collate "C") and c.name = pg_catalog.lower(a.cname collate "C")
        offset 0
    ) k
),
{{.Call}}_more as materialized (
    select mbus4.candidates(k.queue, k.id, k.low, k.now, k.selector, 128) as tids from {{.Call}}_consumer k where pg_catalog.cardinality(k.tids) = 16
),
{{.Call}}_taken as (
    delete from mbus4.message m
    where m.ctid = any(coalesce(
        {{template "first_free" .With "Tids" $few}},
        {{template "first_free" .With "Tids" $more}},
        {{template "first_free" .With "Tids" $all}}
    ))
    returning m.id, m.consumer_id, m.available_at, m.added, m.delayed_until, m.expires, m.received, m.headers, m.properties, m.data,
              {{template "row_iid" .With "Row" "m" "Queue" $queue}} as iid
),
{{if .Ordered}}{{template "wake" .}}{{end}}
{{.Call}} as (
    select 1::bigint as n, {{template "message" .With "Row" "d" "Queue" "k.queue"}} as {{.Result}} from {{.Call}}_taken d, {{.Call}}_consumer k
)
