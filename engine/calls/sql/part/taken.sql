-- What a call has removed, by the iid (_taken_by_iid) or by the place that the iid names (_taken_by_place), and what waited for it.
{{.Call}}_taken as (
    select * from {{.Call}}_taken_by_iid
    union all
    select * from {{.Call}}_taken_by_place
),
{{if .Ordered}}{{template "wake" .}}{{end}}
