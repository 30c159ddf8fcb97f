-- A view for those who have no rights on the schema: selecting consumes a message, inserting posts one.
-- Both run with the rights of the role that creates it.
begin
    if not exists (select from mbus4.queue q where q.qname = {{.Queue}}) then
        raise exception using errcode = '42704', message = {{.NoQueue}}, hint = 'Create it with mbus4.create_queue(qname, ncons).';
    elsif not exists (select from mbus4.consumer c where c.qname = {{.Queue}} and c.name = {{.Consumer}}) then
        raise exception using errcode = '42704', message = {{.NoConsumer}}, hint = 'Create it with mbus4.create_consumer(qname, cname).';
    end if;
    create or replace function mbus4_views.{{.Name}}_consume() returns table ({{.Columns}})
    language sql volatile rows 1 security definer set search_path = pg_catalog, pg_temp
    as {{.ConsumeBody}};
    create or replace function mbus4_views.{{.Name}}_post({{.Columns}}) returns text
    language sql volatile security definer set search_path = pg_catalog, pg_temp
    as {{.PostBody}};
    create view {{.View}} as select * from mbus4_views.{{.Name}}_consume();
    create rule post as on insert to {{.View}} do instead
        insert into mbus4.view_insert (iid) select mbus4_views.{{.Name}}_post({{.NewColumns}});
end
