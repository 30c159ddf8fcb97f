-- Removes the message of a lease, which says where it stands: what is looked for comes from one subquery that stands alone, as in take.sql, and is
-- compared as a row, so that it is set up once. OFFSET 0 keeps the planner from reading what is no lease before that is known. What waited for it is woken as by consume.sql.
-- A lease of a consumer that has been dropped holds nothing, though its message is there until it is swept.
{{.Call}}_taken as (
    delete from mbus4.message m
    where (m.consumer_id, m.available_at, m.id, m.headers operator({{.Hstore}}.->) 'retry.attempt'::pg_catalog.text) = (
            select pg_catalog.split_part(p.lease, '.', 1)::bigint, {{template "lease_end" .With "Part" "pg_catalog.split_part(p.lease, '.', 4)"}},
                   pg_catalog.split_part(p.lease, '.', 2)::bigint, pg_catalog.split_part(p.lease, '.', 3)
            from (select a.lease from {{.Call}}_args a where {{template "is_lease" .With "Lease" "a.lease" "Args" "a"}} offset 0) p
        )
      and m.delayed_until is distinct from m.available_at
    returning m.consumer_id
              {{- if .Ordered}}, case when (select 1 from mbus4.waiting g where g.dep = m.iid order by g.dep, g.consumer_id, g.id limit 1) is not null then mbus4.wake(m.iid) end as woken{{end}}
),
{{.Call}} as (
    select 1::bigint as n, (select 1 from mbus4.consumer c where c.id = (select t.consumer_id from {{.Call}}_taken t)) is not null as ack
)
