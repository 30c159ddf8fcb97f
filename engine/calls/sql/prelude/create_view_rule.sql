create rule post as on insert to {{.View}} do instead
    insert into mbus4.view_insert (iid) select mbus4_views.{{.Name}}_post({{.NewColumns}})
