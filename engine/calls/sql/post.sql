-- Posts a message: stores one row for each consumer of the queue that selects it, and returns its iid. A message that no
-- consumer wants is not stored, but its iid is returned all the same.
--
-- The id comes before the clock: from then on the hinter knows of the message (engine/housekeeping/hinter.go). The
-- expressions of one select list are evaluated in its order. The headers that are not the caller's follow from the row when
-- it is read, and so does the iid, unless it does not fit (see schema/baseline/03_iids.sql).
--
-- That the queue exists is checked in what the insert reads, and not in the last query: the client's statement need
-- not read the iid, and the error would not be raised then.
{{- $headers := "null"}}
{{- if or .GivesPayload (ne .Trace "")}}{{$headers = "p.headers"}}{{end}}
{{- $at := "p.added"}}
{{- if .GivesDelay}}{{$at = "p.at"}}{{end}}
{{.Call}}_posted as materialized (
    {{- if .GivesDelay}}
    select w.*, {{template "available" .With "Row" "w"}} as at
    from (
    {{- end}}
    select a.n, {{template "new_id" .}} as id, pg_catalog.clock_timestamp() as added, pg_catalog.lower(a.qname collate "C") as queue,
           a.delayed_until::pg_catalog.timestamptz as delayed_until, a.expires::pg_catalog.timestamptz as expires, {{if ne $headers "null"}}{{template "posted_headers" .With "Row" "a"}} as headers, {{end}}a.properties, {{template "posted_data" .With "Row" "a"}} as data
    from {{.Call}}_args a
    {{- if .GivesDelay}}
    offset 0
    ) w
    {{- end}}
),
{{.Call}}_stored as (
    insert into mbus4.message (id, consumer_id, available_at, added,{{if .GivesDelay}} iid, delayed_until,{{end}} expires, {{if ne $headers "null"}}headers, {{end}}properties, data)
    select p.id, consumer_id, {{$at}}, p.added,
           {{if .GivesDelay}}{{template "far_iid" .With "Row" "p"}}, p.delayed_until, {{end}}p.expires, {{if ne $headers "null"}}p.headers, {{end}}p.properties, p.data
    from {{template "consumers_of" .}}
    where {{template "receives" .With "IID" "null" "Headers" $headers "After" "null" "Waits" "false"}}
),
{{.Call}} as (
    select p.n, {{template "iid" .With "Queue" "p.queue" "At" $at "ID" "p.id"}} as post
    from {{.Call}}_posted p
)
