-- The first of the statements of create_view: it fails where there is no such queue or consumer. It inserts nothing; a query would
-- have an answer, which those who send a simple Query would get.
insert into mbus4.view_insert (iid)
select null
where case {{if .Guard}}when not {{.Guard}} then 0
           {{end}}when not exists (select from mbus4.consumer c where c.qname = {{.Queue}} and c.name = {{.Consumer}})
           then {{.NoConsumer}}('{{.Mark}}', {{.Queue}}, {{.Consumer}}) end is not null
