create view {{.View}} as select * from mbus4_views.{{.Name}}_consume()
