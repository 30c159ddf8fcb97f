-- As take.sql, for a call that is evaluated for each row of a set.
{{- $args := print .Call "_args"}}
{{- if .GivesWait}}{{$args = print .Call "_free"}}{{template "free" .With "Queue" "null" "Consumer" "null"}}{{end}}
{{.Call}}_taken_by_iid as (
    delete from mbus4.message m
    using {{$args}} a, mbus4.consumer c
    where m.iid = a.msgid and c.id = m.consumer_id and {{template "unexpired" .With "Row" "m"}}
    returning a.n, c.qname as queue, m.*
),
{{.Call}}_taken_by_place as (
    delete from mbus4.message m
    using {{$args}} a
    cross join lateral mbus4.places_of_iid(a.msgid) p
    join mbus4.consumer c on c.qname = p.queue
    where m.consumer_id = c.id and m.available_at = p.available_at and m.id = p.id and m.iid is null and {{template "unexpired" .With "Row" "m"}}
    returning a.n, c.qname as queue, m.id, m.consumer_id, m.available_at, m.added, a.msgid as iid,
              m.delayed_until, m.expires, m.received, m.headers, m.properties, m.data, m.after
),
{{template "taken" .}}
{{.Call}} as (
    select a.n, d.r as take
    from {{.Call}}_args a
    left join (
        select distinct on (d.n) d.n, {{template "message" .With "Row" "d" "Queue" "d.queue"}} as r
        from {{.Call}}_taken d
        order by d.n, d.id, d.consumer_id
    ) d on d.n = a.n
)
