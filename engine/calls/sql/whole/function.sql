-- A function that serves a call in place. One with a setting the planner does not try to put into the statement that calls it, for which it would read
-- the body at each plan.
create or replace function {{.Signature}} returns {{if .Set}}setof {{end}}{{.Returns}} language sql volatile{{if .Set}} rows 1{{end}} set jit = off as {{.Body}}
