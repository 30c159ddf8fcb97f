-- Receives the message for one consumer. Waits for a row that another transaction holds. What is looked for comes from subqueries that
-- stand alone, as in take.sql; rows are compared, which only the index of iids serves. The WITH query _enforced
-- inserts nothing, it only makes sure that the arguments are checked: see part/done.sql.
{{- if .GivesWait}}{{template "free" .With "Queue" "a.qname" "Consumer" "a.cname"}}{{end}}
{{.Call}}_consumer as materialized (
    select a.n, {{if .GivesWait}}(select f.msgid from {{.Call}}_free f){{else}}a.msgid{{end}} as msgid, c.qname as queue, {{template "consumer" .With "Args" "a" "ID" "c.id"}} as id
    from {{.Call}}_args a
    left join mbus4.consumer c on c.qname = pg_catalog.lower(a.qname collate "C") and c.name = pg_catalog.lower(a.cname collate "C")
),
{{.Call}}_place as materialized (
    select p.available_at, p.id from {{.Call}}_consumer k cross join lateral mbus4.places_of_iid(k.msgid) p where p.queue = k.queue
),
{{.Call}}_taken_by_iid as (
    delete from mbus4.message m
    where m.iid is not null
      and (m.iid, m.consumer_id) between ((select k.msgid from {{.Call}}_consumer k), (select k.id from {{.Call}}_consumer k))
                                     and ((select k.msgid from {{.Call}}_consumer k), (select k.id from {{.Call}}_consumer k))
      and {{template "unexpired" .With "Row" "m"}}
    returning m.*
),
{{.Call}}_taken_by_place as (
    delete from mbus4.message m
    where m.consumer_id = (select k.id from {{.Call}}_consumer k)
      and m.available_at = (select p.available_at from {{.Call}}_place p)
      and m.id = (select p.id from {{.Call}}_place p)
      and m.iid is null and {{template "unexpired" .With "Row" "m"}}
    returning m.id, m.consumer_id, m.available_at, m.added, (select k.msgid from {{.Call}}_consumer k) as iid,
              m.delayed_until, m.expires, m.received, m.headers, m.properties, m.data, m.after
),
{{template "taken" .}}
{{.Call}}_enforced as (
    insert into mbus4.waiting (dep, consumer_id, id) select null, k.id, null from {{.Call}}_consumer k where pg_catalog.num_nulls(k.n) > 0
),
{{.Call}} as (
    select k.n, case when d.id is not null then {{template "message" .With "Row" "d" "Queue" "k.queue"}} end as take_from
    from {{.Call}}_consumer k
    left join {{.Call}}_taken d on true
)
