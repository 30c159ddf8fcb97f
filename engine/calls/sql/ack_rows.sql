-- As ack.sql, for a call that is evaluated for each row of a set.
{{.Call}}_key as materialized (
    select p.n, p.part[1]::bigint as consumer_id, p.part[2]::bigint as id, p.part[3] as attempt, {{template "lease_end" .With "Part" "p.part[4]"}} as available_at
    from (select a.n, {{template "lease_parts" .With "Lease" "a.lease" "Args" "a"}} as part from {{.Call}}_args a offset 0) p
),
{{.Call}}_chosen as materialized (
    select k.n, x.tid
    from {{.Call}}_key k
    cross join lateral (
        select m.ctid as tid
        from mbus4.message m
        where m.consumer_id = k.consumer_id and m.available_at = k.available_at and m.id = k.id and {{template "held" .With "Row" "m" "Attempt" "k.attempt"}}
        order by m.consumer_id, m.available_at, m.id
        limit 1
        for update
    ) x
),
{{.Call}}_taken as (
    delete from mbus4.message m
    where m.ctid = any(array(select s.tid from {{.Call}}_chosen s))
    returning m.ctid as tid, m.iid
),
{{if .Ordered}}{{template "wake" .}}{{end}}
{{.Call}} as (
    select k.n, (select pg_catalog.min(s.n) from {{.Call}}_chosen s where s.tid = (select o.tid from {{.Call}}_chosen o where o.n = k.n)) is not distinct from k.n
               and (select 1 from mbus4.consumer c where c.id = k.consumer_id) is not null as ack
    from {{.Call}}_key k
)
