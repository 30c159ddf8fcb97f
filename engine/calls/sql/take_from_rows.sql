-- As take_from.sql, for a call that is evaluated for each row of a set. The WITH query _enforced inserts nothing,
-- it only makes sure that the arguments are checked: see part/done.sql.
{{- if .GivesWait}}{{template "free" .With "Queue" "a.qname" "Consumer" "a.cname"}}{{end}}
{{.Call}}_consumer as materialized (
    select a.n, {{if .GivesWait}}(select f.msgid from {{.Call}}_free f where f.n = a.n){{else}}a.msgid{{end}} as msgid, c.qname as queue, {{template "consumer" .With "Args" "a" "ID" "c.id"}} as id
    from {{.Call}}_args a
    left join lateral (
        select * from mbus4.consumer c where c.qname = pg_catalog.lower(a.qname collate "C") and c.name = pg_catalog.lower(a.cname collate "C") offset 0
    ) c on true
),
{{.Call}}_taken_by_iid as (
    delete from mbus4.message m
    using {{.Call}}_consumer k
    where m.iid = k.msgid and m.consumer_id = k.id and {{template "unexpired" .With "Row" "m"}}
    returning k.n, m.*
),
{{.Call}}_taken_by_place as (
    delete from mbus4.message m
    using {{.Call}}_consumer k
    cross join lateral mbus4.places_of_iid(k.msgid) p
    where k.queue = p.queue
      and m.consumer_id = k.id and m.available_at = p.available_at and m.id = p.id and m.iid is null and {{template "unexpired" .With "Row" "m"}}
    returning k.n, m.id, m.consumer_id, m.available_at, m.added, k.msgid as iid,
              m.delayed_until, m.expires, m.received, m.headers, m.properties, m.data, m.after
),
{{template "taken" .}}
{{.Call}}_enforced as (
    insert into mbus4.waiting (dep, consumer_id, id) select null, k.id, null from {{.Call}}_consumer k where pg_catalog.num_nulls(k.n) > 0
),
{{.Call}} as (
    select k.n, case when d.id is not null then {{template "message" .With "Row" "d" "Queue" "k.queue"}} end as take_from
    from {{.Call}}_consumer k
    left join {{.Call}}_taken d on d.n = k.n
)
