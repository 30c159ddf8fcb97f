-- As post.sql, for calls that give headers or an iid.
--
-- What a message waits for is looked up here, for many rows once for all. Under an iid that is given, the text posts where that is none that messages have
-- which were given none, no message is under it, and no two rows give it; else a function does it from its beginning to its end, and gives the iid, see
-- whole/post_given.sql. A message under the iid that is committed after the snapshot was taken makes the insert fail.
{{- $waits := .GivesHeaders}}
{{- $after := "null"}}
{{- $parked := "false"}}
{{- if $waits}}{{$after = "case when p.queue <> 'dmq' then p.after end"}}{{$parked = "p.waits"}}{{end}}
{{- $waiting := "w.after is not null and w.queue <> 'dmq' and (select true from mbus4.awaited(w.after) limit 1) is not null"}}
{{- if .Rows}}
{{- $waiting = print "w.after is not null and w.queue <> 'dmq' and (select true from pg_catalog.unnest(w.after) d (iid) where " .Hstore ".exist((select u.iids from " .Call "_undelivered u), d.iid)"}}
{{- if .GivesIID}}{{$waiting = print $waiting " or ((select g.iids from " .Call "_given g) operator(" .Hstore ".->) d.iid)::bigint < w.n"}}{{end}}
{{- $waiting = print $waiting " limit 1) is not null"}}
{{- end}}
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
           coalesce(w.given, case when {{template "available" .With "Row" "w"}} >= '2200-01-01Z'{{if $waits}} or w.after is not null{{end}} then w.queue || '.' || pg_catalog.current_database()::pg_catalog.text || '.' || w.id::pg_catalog.text end) as iid
           {{- if and $waits (not .Rows)}}, {{$waiting}} as waits{{end}}
           {{- if .GivesIID}},
           case when w.given is null or {{$foreign}} and {{$free}} then null
                else {{.PostGiven}}('{{.MarkOf "w"}}', w.queue, w.id, w.added, w.given, w.delayed_until, w.expires, w.headers, w.properties, w.data, {{if and $waits .Rows}}w.waits{{else}}false{{end}}) end as done
           {{- end}}
    from (
        {{- if and $waits .Rows}}
        select w.*, {{$waiting}} as waits
        from (
        {{- end}}
        select a.n, {{template "new_id" .}} as id, pg_catalog.clock_timestamp() as added, pg_catalog.lower(a.qname collate "C") as queue, a.iid as given,
               {{if .GivesHeaders}}case when {{.Hstore}}.exist(a.headers, 'seenby') then mbus4.seen_here('{{.MarkOf "a"}}', pg_catalog.lower(a.qname collate "C"), {{template "posted_headers" .With "Row" "a"}}) else {{template "posted_headers" .With "Row" "a"}} end{{else}}{{template "posted_headers" .With "Row" "a"}}{{end}} as headers,
               {{if $waits}}nullif({{template "header_array" .With "Row" "a" "Headers" "a.headers" "Header" "consume_after"}}, '{}') as after, (a.headers operator({{.Hstore}}.->) 'Redeploy'::pg_catalog.text)::boolean as redeployed,
               {{end}}a.delayed_until::pg_catalog.timestamptz as delayed_until, a.expires::pg_catalog.timestamptz as expires, a.properties, {{template "posted_data" .With "Row" "a"}} as data
        from {{.Call}}_args a
        offset 0
        {{- if and $waits .Rows}}
        ) w
        offset 0
        {{- end}}
    ) w
    offset 0
),
{{.Call}}_stored as (
    insert into mbus4.message (id, consumer_id, available_at, added, iid, delayed_until, expires, headers, properties, data{{if $waits}}, after{{end}})
    select p.id, consumer_id, {{if not $waits}}p.at{{else}}case when p.waits then {{if .Rows}}'infinity'{{else}}mbus4.parked(p.after, consumer_id, p.id){{end}} else p.at end{{end}}, p.added, p.iid,
           p.delayed_until, p.expires, p.headers, p.properties, p.data{{if $waits}}, {{$after}}{{end}}
    from {{template "consumers_of" .}}
    where {{if .GivesIID}}p.done is null and {{end}}{{template "receives" .With "IID" "p.iid" "Headers" "p.headers" "After" $after "Waits" $parked "Passed" (or (and $waits "case when p.redeployed then array[(rest).target] end") "null")}}
    {{- if and $waits .Rows}}
    returning id, consumer_id, after, available_at
    {{- end}}
),
{{- if and $waits .Rows}}
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
    select p.n, coalesce({{if .GivesIID}}p.done, {{end}}p.iid, {{template "iid" .With "Queue" "p.queue" "At" "p.at" "ID" "p.id"}}) as post
    from {{.Call}}_posted p
)
