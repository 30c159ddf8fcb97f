-- Removes the message for all its consumers and gives one of the copies. Waits for rows that another
-- transaction holds. What is looked for comes from subqueries that stand alone, so that a plan made when there was nothing can only go
-- where they say. With a wait it takes what can be delivered, see part/free.sql.
{{- $owner := "(select c.qname from mbus4.consumer c where c.id = m.consumer_id offset 0)"}}
{{- $args := print .Call "_args"}}
{{- if .GivesWait}}{{$args = print .Call "_free"}}{{template "free" .With "Queue" "null" "Consumer" "null"}}{{end}}
{{.Call}}_place as materialized (
    select p.* from {{$args}} a cross join lateral mbus4.places_of_iid(a.msgid) p
),
{{.Call}}_taken_by_iid as (
    delete from mbus4.message m
    where m.iid = (select a.msgid from {{$args}} a)
      and {{$owner}} is not null and {{template "unexpired" .With "Row" "m"}}
    returning {{$owner}} as queue, m.*
),
{{.Call}}_taken_by_place as (
    delete from mbus4.message m
    where m.consumer_id = any(array(select c.id from {{.Call}}_place p join mbus4.consumer c on c.qname = p.queue))
      and m.available_at = (select p.available_at from {{.Call}}_place p)
      and m.id = (select p.id from {{.Call}}_place p)
      and m.iid is null and {{template "unexpired" .With "Row" "m"}}
    returning (select p.queue from {{.Call}}_place p) as queue, m.id, m.consumer_id, m.available_at, m.added, (select a.msgid from {{.Call}}_args a) as iid,
              m.delayed_until, m.expires, m.received, m.headers, m.properties, m.data, m.after
),
{{template "taken" .}}
{{.Call}} as (
    select a.n, (
        select {{template "message" .With "Row" "d" "Queue" "d.queue"}}
        from {{.Call}}_taken d
        order by d.id, d.consumer_id
        limit 1
    ) as take
    from {{.Call}}_args a
)
