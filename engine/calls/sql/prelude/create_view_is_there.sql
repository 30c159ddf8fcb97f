-- The first of the statements of create_view: it fails where there is no such queue or consumer. It inserts nothing; a query would
-- have an answer, which those who send a simple Query would get.
insert into mbus4.view_insert (iid)
select null
where case {{if .Guard}}when not {{.Guard}} then 0
           {{end}}when not exists (select from mbus4.queue q where q.qname = {{.Queue}})
           then pg_catalog.left(pg_catalog.format('mbus4-error {{.Mark}} 42704 queue "%s" does not exist', {{.Queue}}::pg_catalog.text), 2000)::int
           when not exists (select from mbus4.consumer c where c.qname = {{.Queue}} and c.name = {{.Consumer}})
           then pg_catalog.left(pg_catalog.format('mbus4-error {{.Mark}} 42704 queue "%s" has no consumer "%s"', {{.Queue}}::pg_catalog.text, {{.Consumer}}::pg_catalog.text), 2000)::int end is not null
