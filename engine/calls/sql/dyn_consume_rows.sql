-- As dyn_consume.sql, for a call that is evaluated for each row of a set. Rows that ask the same of the same
-- consumer are served together.
{{- $queue := print "(select t.queue from " .Call "_wanted t where t.id = m.consumer_id limit 1)"}}
{{.Call}}_consumer as materialized (
    select a.n, c.qname as queue, {{template "consumer" .With "Args" "a" "ID" .Receiver}} as id,
           coalesce(c.hint, c.id % 128::bigint) as hint, coalesce(a.selector, '') as selector
    from {{.Call}}_args a
    left join lateral (
        select * from mbus4.consumer c where c.qname = pg_catalog.lower(a.qname collate "C") and c.name = pg_catalog.lower(a.cname collate "C") offset 0
    ) c on true
),
{{.Call}}_wanted as materialized (
    select k.id, k.queue, k.selector, pg_catalog.count(*) as amt, pg_catalog.clock_timestamp() as now, {{template "hint" .With "Number" "k.hint"}} as low
    from {{.Call}}_consumer k
    group by k.id, k.queue, k.hint, k.selector
),
{{.Call}}_candidates as materialized (select t.*, mbus4.candidates(t.queue, t.id, t.low, t.now, t.selector, t.amt + 16) as tids from {{.Call}}_wanted t),
{{.Call}}_chosen as materialized (
    select e.id, e.selector, x.tid
    from {{.Call}}_candidates e
    cross join lateral (
        select m.ctid as tid
        from mbus4.message m
        where m.ctid = any(e.tids) and m.consumer_id is not distinct from e.id and {{template "deliverable" .With "Row" "m" "Now" "e.now"}}
        order by m.available_at, m.id
        limit e.amt
        for update skip locked
    ) x
),
{{.Call}}_further as materialized (
    select e.id, e.selector, x.tid
    from (select e.*, e.amt - (select pg_catalog.count(*) from {{.Call}}_chosen s where s.id = e.id and s.selector = e.selector) as lacking from {{.Call}}_candidates e) e
    cross join lateral (select mbus4.candidates(e.queue, e.id, e.low, e.now, e.selector, 1000000000) as tids offset 0) c
    cross join lateral (
        select m.ctid as tid
        from mbus4.message m
        where m.ctid = any(c.tids) and m.consumer_id is not distinct from e.id and {{template "deliverable" .With "Row" "m" "Now" "e.now"}} and m.ctid <> all(array(select s.tid from {{.Call}}_chosen s))
        order by m.available_at, m.id
        limit e.lacking
        for update skip locked
    ) x
    where e.lacking > 0 and pg_catalog.cardinality(e.tids) = e.amt + 16
),
{{.Call}}_picked as materialized (
    select distinct on (p.tid) p.tid, p.selector
    from (select * from {{.Call}}_chosen union all select * from {{.Call}}_further) p
),
{{.Call}}_taken as (
    delete from mbus4.message m
    where m.ctid = any(array(select p.tid from {{.Call}}_picked p))
    returning m.ctid as tid, m.id, m.consumer_id, m.available_at, m.added, m.delayed_until, m.expires, m.received, m.headers, m.properties, m.data,
              {{template "row_iid" .With "Row" "m" "Queue" $queue}} as iid
),
{{if .Ordered}}{{template "wake" .}}{{end}}
{{.Call}}_placed as (
    select d.*, p.selector, pg_catalog.row_number() over (partition by d.consumer_id, p.selector order by d.available_at, d.id) as place
    from {{.Call}}_taken d
    join {{.Call}}_picked p on p.tid = d.tid
),
{{.Call}} as (
    select r.n, {{template "message" .With "Row" "d" "Queue" "r.queue"}} as {{.Result}}, d.place as o
    from (select k.n, k.id, k.queue, k.selector, pg_catalog.row_number() over (partition by k.id, k.selector order by k.n) as place from {{.Call}}_consumer k) r
    join {{.Call}}_placed d on d.consumer_id = r.id and d.selector = r.selector and d.place = r.place
    order by r.n
)
