-- As post.sql, for calls that give headers or an iid.
--
-- Here too the common way stands in the text: all consumers of the queue get everything, the headers name none that means something
-- to us, the iid is none that messages have which were given none, nobody has a message under it, and no two rows give it. All else
-- a function does from its beginning to its end, and gives the iid, see whole/post_given.sql. A message under the iid that is committed
-- after the snapshot was taken makes the insert fail.
{{- $noHeaders := print "w.headers is null or not w.headers operator(" .Hstore ".?|) array['seenby', 'consume_after', 'Redeploy']"}}
{{- $foreign := "(pg_catalog.strpos(w.given, '.' || pg_catalog.current_database() || '.') = 0 or w.given operator(pg_catalog.!~) '[.][1-9][0-9]{16,}$')"}}
{{- $free := "not exists (select from mbus4.message m where m.iid = w.given and m.consumer_id = any(w.consumers))"}}
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
{{- if not .FixesQueue}}
{{template "subscribers_of_all" .}}
{{- end}}
{{- end}}
{{.Call}}_posted as materialized (
    select w.*, {{template "available" .With "Row" "w"}} as at,
           case when {{template "everybody" .}} and ({{$noHeaders}}){{if .GivesIID}} and (w.given is null or {{$foreign}} and {{$free}}){{end}} then null
                else {{.PostGiven}}('{{.MarkOf "w"}}', w.queue, w.id, w.added, w.given, w.delayed_until, w.expires, w.headers, w.properties, w.data,
                     case when {{template "everybody" .}} then w.consumers end) end as done
    from (
        select a.n, {{template "new_id" .}} as id, pg_catalog.clock_timestamp() as added,
               {{template "subscribers_of" .}} as consumers,
               pg_catalog.lower(a.qname collate "C") as queue, a.iid as given, a.headers,
               a.delayed_until::timestamptz as delayed_until, a.expires::timestamptz as expires, a.properties, a.data
        from {{.Call}}_args a
        offset 0
    ) w
    offset 0
),
{{.Call}}_stored as (
    insert into mbus4.message (id, consumer_id, available_at, added, iid, delayed_until, expires, headers, properties, data)
    select p.id, pg_catalog.unnest(p.consumers), p.at, p.added, coalesce(p.given, {{template "far_iid" .With "Row" "p"}}),
           p.delayed_until, p.expires, p.headers, p.properties, p.data
    from {{.Call}}_posted p
    where p.done is null
),
{{.Call}} as (
    select p.n, coalesce(p.done, p.given, {{template "iid" .With "Queue" "p.queue" "At" "p.at" "ID" "p.id"}}) as post
    from {{.Call}}_posted p
)
