-- As consume.sql, for a call that is evaluated for each row of a set: what the rows want of one
-- consumer is fetched at once and shared out in the order of the rows. Who wants all wants a number that there never are.
{{- $queue := print "(select t.queue from " .Call "_wanted t where t.id = m.consumer_id)"}}
{{.Call}}_consumer as materialized (
    select a.n, {{if .Many}}coalesce({{template "amount" .With "Args" "a"}}, 1000000000000){{else}}1{{end}} as amt, c.qname as queue, {{template "consumer" .With "Args" "a" "ID" .Receiver}} as id,
           coalesce(c.hint, c.id % 128::bigint) as hint
    from {{.Call}}_args a
    left join lateral (
        select * from mbus4.consumer c where c.qname = pg_catalog.lower(a.qname collate "C") and c.name = pg_catalog.lower(a.cname collate "C") offset 0
    ) c on true
),
{{.Call}}_wanted as materialized (
    select k.id, k.queue, pg_catalog.sum(k.amt)::bigint as amt, pg_catalog.clock_timestamp() as now, {{template "hint" .With "Number" "k.hint"}} as low
    from {{.Call}}_consumer k
    group by k.id, k.queue, k.hint
),
{{.Call}}_chosen as materialized (
    select x.tid
    from {{.Call}}_wanted t
    cross join lateral (
        select m.ctid as tid
        from mbus4.message m
        where m.consumer_id = t.id
          and (m.available_at, m.id) >= (t.low, 0)
          and m.available_at <= t.now
          and {{template "deliverable" .With "Row" "m" "Now" "t.now"}}
          {{if .Conditional}}{{template "meets" .With "Row" "m" "Queue" "t.queue"}}{{end}}
        order by m.available_at, m.id
        limit t.amt
        for update skip locked
    ) x
),
{{.Call}}_taken as (
    delete from mbus4.message m
    where m.ctid = any(array(select s.tid from {{.Call}}_chosen s))
    returning m.id, m.consumer_id, m.available_at, m.added, m.delayed_until, m.expires, m.received, m.headers, m.properties, m.data,
              {{template "row_iid" .With "Row" "m" "Queue" $queue}} as iid
),
{{if .Ordered}}{{template "wake" .}}{{end}}
{{.Call}}_placed as (
    select d.*, pg_catalog.row_number() over (partition by d.consumer_id order by d.available_at, d.id) as place from {{.Call}}_taken d
),
{{.Call}} as (
    select r.n, {{template "message" .With "Row" "d" "Queue" "r.queue"}} as {{.Result}}, d.place as o
    from (select k.n, k.id, k.queue, k.amt, pg_catalog.sum(k.amt) over (partition by k.id order by k.n) as upto from {{.Call}}_consumer k) r
    join {{.Call}}_placed d on d.consumer_id = r.id and d.place > r.upto - r.amt and d.place <= r.upto
    order by r.n, d.place
)
