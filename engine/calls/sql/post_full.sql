-- As post.sql, for calls that give headers or an iid.
--
-- The common way stands in the text: the headers name none that means something
-- to us, the iid is none that messages have which were given none, no message is under it, and no two rows give it. For many rows it
-- has what messages wait for, too, which is looked up once for all. All else
-- a function does from its beginning to its end, and gives the iid, see whole/post_given.sql. A message under the iid that is committed
-- after the snapshot was taken makes the insert fail.
{{- $waits := and .Rows .GivesHeaders}}
{{- $noHeaders := print "w.headers is null or not w.headers operator(" .Hstore ".?|) array['seenby', 'consume_after', 'Redeploy']"}}
{{- if $waits}}
{{- $noHeaders = print "w.headers is null or not w.headers operator(" .Hstore ".?|) array['seenby', 'Redeploy', case when w.queue = 'dmq' then 'consume_after' end]"}}
{{- end}}
{{- $iid := "p.given"}}
{{- if $waits}}{{$iid = "p.given, case when pg_catalog.cardinality(p.after) > 0 then p.queue || '.' || pg_catalog.current_database()::pg_catalog.text || '.' || p.id::pg_catalog.text end"}}{{end}}
{{- $after := "null"}}
{{- $parked := "false"}}
{{- if $waits}}{{$after = "case when pg_catalog.cardinality(p.after) > 0 then p.after end"}}{{$parked = "p.waits"}}{{end}}
{{- $foreign := "(pg_catalog.strpos(w.given, '.' || pg_catalog.current_database()::pg_catalog.text || '.') = 0 or w.given operator(pg_catalog.!~) '[.][1-9][0-9]{16,}$')"}}
{{- $free := "not exists (select from mbus4.message m where m.iid = w.given)"}}
{{- if .Rows}}
{{- $free = print .Hstore ".exist((select t.iids from " .Call "_taken t), w.given) is not true"}}
{{- if .GivesIID}}
-- The iids that have a message already, and those that several rows give: all are looked up at once.
{{.Call}}_taken as materialized (
    select {{.Hstore}}.hstore(pg_catalog.array_agg(i.iid), null) as iids
    from (
        select m.iid from mbus4.message m where m.iid = any(array(select d.iid from {{.Call}}_args d where d.iid is not null))
        union all
        select d.iid from {{.Call}}_args d where d.iid is not null group by d.iid having pg_catalog.count(*) > 1
    ) i
),
{{- end}}
{{- if $waits}}
-- What any row waits for, and what of that is undelivered.
{{.Call}}_wanted as materialized (
    select distinct pg_catalog.unnest({{template "header_array" .With "Row" "a" "Headers" "a.headers" "Header" "consume_after"}}) as iid
    from {{.Call}}_args a
    where {{.Hstore}}.exist(a.headers, 'consume_after') and pg_catalog.lower(a.qname collate "C") <> 'dmq'
),
{{.Call}}_undelivered as materialized (
    select {{.Hstore}}.hstore(pg_catalog.array_agg(u.iid), null) as iids
    from (
        select m.iid
        from mbus4.message m
        where m.iid = any(array(select d.iid from {{.Call}}_wanted d))
          and (select 1 from mbus4.consumer c where c.id = m.consumer_id) is not null and {{template "unexpired" .With "Row" "m"}}
        union all
        select d.iid
        from {{.Call}}_wanted d
        cross join lateral mbus4.places_of_iid(d.iid) p
        cross join lateral (select c.id from mbus4.consumer c where c.qname = p.queue offset 0) c
        cross join lateral (select * from mbus4.message m where m.consumer_id = c.id and m.available_at = p.available_at and m.id = p.id offset 0) m
        where m.iid is null and {{template "unexpired" .With "Row" "m"}}
    ) u
),
{{- if .GivesIID}}
-- The iids that rows give, with the first that does: a message of the same statement is waited for where it is posted earlier.
{{.Call}}_given as materialized (
    select {{.Hstore}}.hstore(pg_catalog.array_agg(g.iid), pg_catalog.array_agg(g.n::pg_catalog.text)) as iids
    from (
        select d.iid, pg_catalog.min(d.n) as n
        from {{.Call}}_args d
        where d.iid is not null and exists (select from {{.Call}}_wanted)
        group by d.iid
    ) g
),
{{- end}}
{{- end}}
{{- end}}
{{.Call}}_posted as materialized (
    select w.*, {{template "available" .With "Row" "w"}} as at,
           case when ({{$noHeaders}}){{if .GivesIID}} and (w.given is null or {{$foreign}} and {{$free}}){{end}} then null
                else {{.PostGiven}}('{{.MarkOf "w"}}', w.queue, w.id, w.added, w.given, w.delayed_until, w.expires, w.headers, w.properties, w.data, null, {{if $waits}}w.waits{{else}}false{{end}}) end as done
    from (
        {{- if $waits}}
        select w.*, w.after is not null and (
                   select true
                   from pg_catalog.unnest(w.after) d (iid)
                   where {{.Hstore}}.exist((select u.iids from {{.Call}}_undelivered u), d.iid)
                      {{if .GivesIID}}or ((select g.iids from {{.Call}}_given g) operator({{.Hstore}}.->) d.iid)::bigint < w.n{{end}}
                   limit 1
               ) is not null as waits
        from (
        {{- end}}
        select a.n, {{template "new_id" .}} as id, pg_catalog.clock_timestamp() as added,
               pg_catalog.lower(a.qname collate "C") as queue, a.iid as given, {{template "posted_headers" .With "Row" "a"}} as headers,
               {{if $waits}}case when pg_catalog.lower(a.qname collate "C") <> 'dmq' then {{template "header_array" .With "Row" "a" "Headers" "a.headers" "Header" "consume_after"}} end as after,{{end}}
               a.delayed_until::pg_catalog.timestamptz as delayed_until, a.expires::pg_catalog.timestamptz as expires, a.properties, {{template "posted_data" .With "Row" "a"}} as data
        from {{.Call}}_args a
        offset 0
        {{- if $waits}}
        ) w
        offset 0
        {{- end}}
    ) w
    offset 0
),
{{.Call}}_stored as (
    insert into mbus4.message (id, consumer_id, available_at, added, iid, delayed_until, expires, headers, properties, data{{if $waits}}, after{{end}})
    select p.id, consumer_id, {{if $waits}}case when p.waits then 'infinity' else p.at end{{else}}p.at{{end}}, p.added, coalesce({{$iid}}, {{template "far_iid" .With "Row" "p"}}),
           p.delayed_until, p.expires, p.headers, p.properties, p.data{{if $waits}}, {{$after}}{{end}}
    from {{template "consumers_of" .}}
    where p.done is null and {{template "receives" .With "IID" (print "coalesce(" $iid ")") "Headers" "p.headers" "After" $after "Waits" $parked}}
    {{- if $waits}}
    returning id, consumer_id, after, available_at
    {{- end}}
),
{{- if $waits}}
{{.Call}}_waiting as (
    insert into mbus4.waiting (dep, consumer_id, id)
    select d.iid, s.consumer_id, s.id
    from {{.Call}}_stored s
    cross join lateral pg_catalog.unnest(s.after) d (iid)
    where s.available_at = 'infinity' and d.iid is not null
    on conflict do nothing
),
{{- end}}
{{.Call}} as (
    select p.n, coalesce(p.done, {{$iid}}, {{template "iid" .With "Queue" "p.queue" "At" "p.at" "ID" "p.id"}}) as post
    from {{.Call}}_posted p
)
