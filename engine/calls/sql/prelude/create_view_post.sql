-- What inserting into the view does.
create or replace function mbus4_views.{{.Name}}_post({{.Columns}}) returns text
language sql volatile security definer set search_path = pg_catalog, pg_temp
as {{.PostBody}}
