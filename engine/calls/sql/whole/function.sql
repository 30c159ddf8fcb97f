-- A function that serves a call in place.
create or replace function {{.Signature}} returns {{if .Set}}setof {{end}}{{.Returns}} language sql volatile{{if .Set}} rows 1{{end}} as {{.Body}}
