-- Posts a message: stores one row for each consumer of the queue that selects it, and returns its iid. A message that no
-- consumer wants is not stored, but its iid is returned all the same.
--
-- nextval comes before the clock: from then on the hinter knows of the message (engine/housekeeping/hinter.go). The
-- expressions of one select list are evaluated in its order. The headers that are not the caller's follow from the row when
-- it is read, and so does the iid, unless it does not fit (see schema/baseline/03_iids.sql).
--
-- That the queue exists is checked in _posted, which the insert reads, and not in the last query: the client's statement need
-- not read the iid, and the error would not be raised then.
--
-- Microseconds are computed in floating point where that is exact, because it is cheaper. Each OFFSET 0 keeps the planner from
-- putting the text of a column wherever the column is named: to set up many copies costs more than to compute one.
{{- $queue := "a.qname"}}
{{- if and .Rows .FixesQueue}}{{$queue = .Arg "qname"}}{{end}}
{{- $lookup := and .Rows (not .FixesQueue)}}
{{if $lookup}}
-- Messages may go to many queues, mostly to the same: each queue is looked up once.
{{.Call}}_subscribers as materialized (
    select c.qname as queue, {{template "subscribers" .}}
    from mbus4.consumer c
    where c.qname = any(array(select pg_catalog.lower(a.qname collate "C") from {{.Call}}_args a group by 1))
    group by c.qname
),
{{end}}
{{.Call}}_posted as materialized (
    select z.n, z.id, z.queue, z.added, z.at, z.delayed_until, z.expires, z.properties, z.data, z.iid,
           {{if .Selective}}{{template "subscribed_selective" .}}{{else}}{{template "subscribed" .}}{{end}}
    from (
        select y.*, y.prefix || case when y.at < '2038-01-01Z' then (pg_catalog.date_part('epoch', y.at) * 1000000)::bigint::text
                                     when y.at < '2200-01-01Z' then (extract(epoch from y.at) * 1000000)::bigint::text
                                     else '' end || y.id as iid
        from (
            select x.*, {{template "available" .With "Row" "x"}} as at
            from (
                select a.n, pg_catalog.nextval('mbus4.message_id') as id, pg_catalog.clock_timestamp() as added,
                       case when r.consumers is not null or exists (select from mbus4.queue q where q.qname = pg_catalog.lower(a.qname collate "C"))
                                 or {{template "temporary" .With "Args" "a" "Queue" `pg_catalog.lower(a.qname collate "C")`}} then pg_catalog.lower(a.qname collate "C")
                            else {{template "no_queue" .With "Args" "a" "Queue" `pg_catalog.lower(a.qname collate "C")`}}::text
                       end as queue,
                       ({{if and .Rows .FixesQueue}}select {{end}}pg_catalog.lower({{$queue}} collate "C") || '.' || pg_catalog.current_database() || '.') as prefix,
                       a.delayed_until::timestamptz as delayed_until, a.expires::timestamptz as expires, a.properties, a.data,
                       r.consumers, r.choosy, r.general, r.routed
                from {{.Call}}_args a
                left join lateral (
                    {{if $lookup}}
                    select * from {{.Call}}_subscribers r where r.queue = pg_catalog.lower(a.qname collate "C") offset 0
                    {{else}}
                    select {{template "subscribers" .}} from mbus4.consumer c where c.qname = pg_catalog.lower({{$queue}} collate "C")
                    {{end}}
                ) r on true
                offset 0
            ) x
        ) y
        offset 0
    ) z
),
{{.Call}}_stored as (
    insert into mbus4.message (id, consumer_id, available_at, added, iid, delayed_until, expires, properties, data)
    select p.id, pg_catalog.unnest(p.consumers), p.at, p.added, case when p.at >= '2200-01-01Z' then p.iid end, p.delayed_until, p.expires, p.properties, p.data
    from {{.Call}}_posted p
),
{{.Call}} as (
    select p.n, p.iid as post from {{.Call}}_posted p
)
