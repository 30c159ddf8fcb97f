-- True, or an error where the call no longer means a function of ours.
(select case when {{template "name/ours" .}} then true
             else pg_catalog.left(pg_catalog.format('mbus4-error {{.Mark}} 42725 the name %s no longer means mbus4.%s', {{.Name}}, {{.Name}}), 2000)::int is null end)
