-- As lease.sql, for a call that is evaluated for each row of a set: what the rows want of one consumer is leased at once, for the longest of the times
-- that they say, and shared out in the order of the rows. Who wants all wants a number that there never are.
{{- $queue := print "(select t.queue from " .Call "_wanted t where t.id = m.consumer_id)"}}
{{.Call}}_consumer as materialized (
    select a.n, coalesce({{template "amount" .With "Args" "a"}}, 1000000000000) as amt, c.qname as queue, {{template "consumer" .With "Args" "a" "ID" .Receiver}} as id,
           coalesce(c.hint, c.id % 128::bigint) as hint, {{template "lease_length" .With "Given" "a.lease" "Args" "a" "Row" "c"}} as lease,
           {{template "policy" .With "Row" "c" "What" "max_attempts"}} as most
    from {{.Call}}_args a
    left join lateral (
        select * from mbus4.consumer c where c.qname = pg_catalog.lower(a.qname collate "C") and c.name = pg_catalog.lower(a.cname collate "C") offset 0
    ) c on true
),
{{.Call}}_wanted as materialized (
    select k.id, k.queue, k.most, pg_catalog.sum(k.amt)::bigint as amt, pg_catalog.max(k.lease) as lease, pg_catalog.clock_timestamp() as now,
           {{template "told" .}} as told, {{template "hint" .With "Number" "k.hint"}} as low
    from {{.Call}}_consumer k
    group by k.id, k.queue, k.most, k.hint
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
          and {{template "deliverable_or_dead" .With "Row" "m" "Now" "t.now" "Most" "t.most"}}
        order by m.available_at, m.id
        limit t.amt
        for update skip locked
    ) x
),
{{.Call}}_leased as (
    update mbus4.message m
    set available_at = (select t.now + t.lease from {{.Call}}_wanted t where t.id = m.consumer_id),
        iid = {{template "row_iid" .With "Row" "m" "Queue" $queue}},
        headers = {{template "attempted" .With "Headers" "m.headers" "Time" (print "(select t.told from " .Call "_wanted t where t.id = m.consumer_id)")}}
    where m.ctid = any(array(select s.tid from {{.Call}}_chosen s))
    returning m.id, m.consumer_id, m.available_at, m.added, m.delayed_until, m.expires, m.received, m.headers, m.properties, m.data, m.iid
),
{{.Call}}_placed as (
    select d.*, pg_catalog.row_number() over (partition by d.consumer_id order by greatest(d.delayed_until, d.added), d.id) as place from {{.Call}}_leased d
),
{{.Call}} as (
    select r.n, {{template "leased_row" .With "Row" "d" "Queue" "r.queue"}} as lease, d.place as o
    from (select k.n, k.id, k.queue, k.amt, pg_catalog.sum(k.amt) over (partition by k.id order by k.n) as upto from {{.Call}}_consumer k) r
    join {{.Call}}_placed d on d.consumer_id = r.id and d.place > r.upto - r.amt and d.place <= r.upto
    order by r.n, d.place
)
