-- A statement of the engine's own, or the body of a function, around the WITH queries of one call.
with {{.Call}}_args ({{.Columns}}) as ({{.Args}}),
{{.Queries}}
select {{.Result}} from {{.Call}}
