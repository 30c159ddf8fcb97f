-- The error of a call for a consumer that does not exist, or whose queue does not. call is the call's mark. A function, for the server sets up
-- whatever a statement may evaluate, at every call.
create or replace function {{.Signature}} returns int language sql volatile
as $mbus4$
    select (case when exists (select from mbus4.queue q where q.qname = pg_catalog.lower($2 collate "C"))
                 then pg_catalog.left(pg_catalog.format('mbus4-error {{.Mark}} 42704 queue "%s" has no consumer %s', $2, coalesce('"' || $3 || '"', 'null')), 2000)
                 else pg_catalog.left(pg_catalog.format('mbus4-error {{.Mark}} 42704 queue %s does not exist', coalesce('"' || $2 || '"', 'null')), 2000) end)::int
$mbus4$
