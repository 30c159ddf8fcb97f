-- At most amt messages, the longest deliverable first. The scan starts at the consumer's hint: what
-- lies below it is gone, though an old snapshot may keep its index entries (see engine/housekeeping/hinter.go). An array of
-- row addresses keeps the planner from guessing how many there are. The conditions are written so that
-- it takes most rows in the range for matches: else it fetches and sorts a whole backlog (see
-- TestConsumePlanIsStable). What lies in dmq keeps the destination with which it came: see part/shown_headers.sql.
{{- $queue := print "(select k.queue from " .Call "_consumer k)"}}
{{- $now := print "(select k.now from " .Call "_consumer k)"}}
{{.Call}}_consumer as materialized (
    select {{template "consumer" .With "Args" "a" "Consumer" "c"}} as id,
           {{if eq .Result "consumen"}}{{template "amount" .With "Args" "a"}}{{else}}1{{end}} as amt,
           pg_catalog.clock_timestamp() as now,
           {{template "hint" .With "Consumer" "c.id"}} as low,
           c.qname as queue,
           {{.Hstore}}.hstore(array['source_db', pg_catalog.current_database()::text, 'destination_queue', c.qname,
               'seenby', array[pg_catalog.current_database()::text]::text]) operator({{.Hstore}}.||) {{template "origin" .With "Queue" "c.qname"}} as headers,
           case when c.qname = 'dmq' then '' else {{template "origin" .With "Queue" "c.qname"}} end as destination,
           pg_catalog.starts_with(pg_catalog.current_setting('datestyle'), 'ISO') as iso
    from {{.Call}}_args a
    left join mbus4.consumer c on c.qname = pg_catalog.lower(a.qname collate "C") and c.name = pg_catalog.lower(a.cname collate "C")
),
{{.Call}}_taken as (
    delete from mbus4.message m
    where m.ctid = any(array(
        select x.ctid
        from mbus4.message x
        where x.consumer_id = (select k.id from {{.Call}}_consumer k)
          and (x.available_at, x.id) >= ((select k.low from {{.Call}}_consumer k), 0)
          and x.available_at <= (select k.now from {{.Call}}_consumer k)
          and {{template "deliverable" .With "Row" "x" "Now" $now}}
          {{if .Conditional}}{{template "meets" .With "Row" "x" "Queue" $queue}}{{end}}
        order by x.available_at, x.id
        limit (select k.amt from {{.Call}}_consumer k)
        for update skip locked
    ))
    returning m.id, m.consumer_id, m.available_at, m.added::timestamp as added, m.delayed_until::timestamp as delayed_until, m.expires, m.received, m.headers, m.properties, m.data,
              coalesce(m.iid, {{template "iid" .With "Queue" $queue "At" "m.available_at" "ID" "m.id"}}) as iid
),
{{if .Ordered}}{{template "wake" .}}{{end}}
{{.Call}} as (
    select 1::bigint as n,
           row(d.id, d.added, d.iid, coalesce(d.delayed_until, d.added), d.expires, coalesce(d.received, '{}'),
               case when d.headers is null
                   then k.headers operator({{.Hstore}}.||) {{.Hstore}}.hstore('enqueue_time'::text, {{template "time" .With "Time" "d.added" "ISO" "k.iso"}})
                   else k.headers operator({{.Hstore}}.||) {{.Hstore}}.hstore('enqueue_time'::text, {{template "time" .With "Time" "d.added" "ISO" "k.iso"}})
                       operator({{.Hstore}}.||) d.headers operator({{.Hstore}}.||) k.destination
               end,
               d.properties, d.data)::mbus4.qt_model as {{.Result}}
    from {{.Call}}_taken d, {{.Call}}_consumer k
    order by d.available_at, d.id
)
