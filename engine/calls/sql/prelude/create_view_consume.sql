-- What reading a view of create_view does. It runs with the rights of the role that creates it, as the post does: who uses
-- the view need have none on the schema.
create or replace function mbus4_views.{{.Name}}_consume() returns table ({{.Columns}})
language sql volatile rows 1 security definer set search_path = pg_catalog, pg_temp
as {{.ConsumeBody}}
