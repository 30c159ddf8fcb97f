-- Removes the message of a lease, which says where it stands: what is looked for comes from one subquery that stands alone, as in take.sql, and is
-- compared as a row, so that it is set up once. What waited for it is woken as by consume.sql.
{{.Call}}_taken as (
    delete from mbus4.message m
    where (m.consumer_id, m.available_at, m.id, m.headers operator({{.Hstore}}.->) 'retry.attempt'::text) = (
            select p.part[1]::bigint, {{template "lease_end" .With "Part" "p.part[4]"}}, p.part[2]::bigint, p.part[3]
            from (select {{template "lease_parts" .With "Lease" "a.lease" "Args" "a"}} as part from {{.Call}}_args a offset 0) p
        )
      and m.delayed_until is distinct from m.available_at
    returning m.id
              {{- if .Ordered}}, case when (select 1 from mbus4.waiting g where g.dep = m.iid order by g.dep, g.consumer_id, g.id limit 1) is not null then mbus4.wake(m.iid) end as woken{{end}}
),
{{.Call}} as (
    select 1::bigint as n, (select 1 from {{.Call}}_taken) is not null as ack
)
