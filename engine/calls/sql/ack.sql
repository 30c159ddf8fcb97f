-- Removes the message of a lease, which says where it stands: what is looked for comes from subqueries that stand alone, as in take.sql. What waited
-- for it is woken as by consume.sql.
{{.Call}}_key as materialized (
    select p.part[1]::bigint as consumer_id, p.part[2]::bigint as id, p.part[3] as attempt, {{template "lease_end" .With "Part" "p.part[4]"}} as available_at
    from (select {{template "lease_parts" .With "Lease" "a.lease" "Args" "a"}} as part from {{.Call}}_args a offset 0) p
),
{{.Call}}_taken as (
    delete from mbus4.message m
    where m.consumer_id = (select k.consumer_id from {{.Call}}_key k)
      and m.available_at = (select k.available_at from {{.Call}}_key k)
      and m.id = (select k.id from {{.Call}}_key k)
      and {{template "held" .With "Row" "m" "Attempt" (print "(select k.attempt from " .Call "_key k)")}}
    returning m.id
              {{- if .Ordered}}, case when (select 1 from mbus4.waiting g where g.dep = m.iid order by g.dep, g.consumer_id, g.id limit 1) is not null then mbus4.wake(m.iid) end as woken{{end}}
),
{{.Call}} as (
    select 1::bigint as n, (select 1 from {{.Call}}_taken) is not null as ack
)
