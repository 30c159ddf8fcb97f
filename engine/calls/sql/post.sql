-- Posts a message: stores one row for each consumer of the queue that selects it, and returns its iid. A message that no
-- consumer wants is not stored, but its iid is returned all the same.
--
-- What most queues are stands here: all their consumers get everything. Where that is not so in the statement's snapshot (a queue
-- that is not there, selectors, triggers), a function says who gets the message, see whole/subscribers.sql.
--
-- The id comes before the clock: from then on the hinter knows of the message (engine/housekeeping/hinter.go). The
-- expressions of one select list are evaluated in its order. The headers that are not the caller's follow from the row when
-- it is read, and so does the iid, unless it does not fit (see schema/baseline/03_iids.sql).
--
-- That the queue exists is checked in what the insert reads, and not in the last query: the client's statement need
-- not read the iid, and the error would not be raised then. For the same reason the iid is computed there.
--
-- Each OFFSET 0 keeps the planner from putting the text of a column wherever the column is named.
{{- $keeps := or .GivesPayload (ne .Trace "")}}
{{- $late := print .Subscribers "('" (.MarkOf "w") "', w.queue, w.id, w.added, null, w.delayed_until, w.expires, " (or (and $keeps "w.headers") "null") ", w.properties, w.data, null, true)"}}
{{- if not .Rows}}
{{- $prefix := print "(select pg_catalog.lower(a.qname collate \"C\") from " .Call "_args a) || '.' || pg_catalog.current_database() || '.'"}}
{{- if .FixesQueue}}{{$prefix = print "pg_catalog.lower(" (.Arg "qname") " collate \"C\") || '.' || pg_catalog.current_database() || '.'"}}{{end}}
{{.Call}}_stored as (
    insert into mbus4.message as m (id, consumer_id, available_at, added,{{if .GivesDelay}} iid, delayed_until,{{end}} expires, {{if $keeps}}headers, {{end}}properties, data)
    select w.id, pg_catalog.unnest({{template "subscribed" .With "Late" $late}}),
           {{if .GivesDelay}}{{template "available" .With "Row" "w"}}{{else}}w.added{{end}}, w.added,
           {{if .GivesDelay}}{{template "far_iid" .With "Row" "w"}}, w.delayed_until,{{end}} w.expires, {{if $keeps}}w.headers, {{end}}w.properties, w.data
    from (
        select {{template "new_id" .}} as id, pg_catalog.clock_timestamp() as added,
               {{template "subscribers_of" .}} as consumers,
               pg_catalog.lower(a.qname collate "C") as queue, a.delayed_until::timestamptz as delayed_until, a.expires::timestamptz as expires, {{if $keeps}}{{template "posted_headers" .With "Row" "a"}} as headers, {{end}}a.properties, {{template "posted_data" .With "Row" "a"}} as data
        from {{.Call}}_args a
        offset 0
    ) w
    returning {{if .GivesDelay}}coalesce(m.iid, {{end}}{{$prefix}} || {{template "place" .With "At" "m.available_at" "ID" "m.id"}}{{if .GivesDelay}}){{end}} as iid
),
{{.Call}} as (
    select 1::bigint as n,
           coalesce((select s.iid from {{.Call}}_stored s limit 1),
                    {{$prefix}} || (extract(epoch from pg_catalog.clock_timestamp()) * 1000000)::bigint || pg_catalog.nextval('mbus4.post_id')) as post
    {{if not .FixesQueue}}from {{.Call}}_args{{end}}
)
{{- else}}
{{- if not .FixesQueue}}
{{template "subscribers_of_all" .}}
{{- end}}
{{.Call}}_posted as materialized (
    select w.n, w.id, w.queue, {{if .GivesDelay}}{{template "available" .With "Row" "w"}}{{else}}w.added{{end}} as at, w.added,
           w.delayed_until, w.expires, {{if $keeps}}w.headers, {{end}}w.properties, w.data, {{template "subscribed" .With "Late" $late}} as consumers
    from (
        select a.n, {{template "new_id" .}} as id, pg_catalog.clock_timestamp() as added,
               {{template "subscribers_of" .}} as consumers,
               pg_catalog.lower(a.qname collate "C") as queue, a.delayed_until::timestamptz as delayed_until, a.expires::timestamptz as expires, {{if $keeps}}{{template "posted_headers" .With "Row" "a"}} as headers, {{end}}a.properties, {{template "posted_data" .With "Row" "a"}} as data
        from {{.Call}}_args a
        offset 0
    ) w
    offset 0
),
{{.Call}}_stored as (
    insert into mbus4.message (id, consumer_id, available_at, added,{{if .GivesDelay}} iid, delayed_until,{{end}} expires, {{if $keeps}}headers, {{end}}properties, data)
    select p.id, pg_catalog.unnest(p.consumers), p.at, p.added,
           {{if .GivesDelay}}{{template "far_iid" .With "Row" "p"}}, p.delayed_until,{{end}} p.expires, {{if $keeps}}p.headers, {{end}}p.properties, p.data
    from {{.Call}}_posted p
),
{{.Call}} as (
    select p.n, p.queue || {{if .FixesQueue}}(select '.' || pg_catalog.current_database() || '.'){{else}}'.' || pg_catalog.current_database() || '.'{{end}} || {{template "place" .With "At" "p.at" "ID" "p.id"}} as post
    from {{.Call}}_posted p
)
{{- end}}
