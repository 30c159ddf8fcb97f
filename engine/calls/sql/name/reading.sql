-- What the name of a call gives for one parameter where it can be read in several ways: decided by which of the
-- queues has the consumer. Column: where it stands in mbus4.consumer, First: what the first reading gives, Pairs: all,
-- Refusal: what is wrong where several hold.
select case pg_catalog.count(*)
           when 0 then {{.First}}
           when 1 then pg_catalog.min(c.{{.Column}})
           else ('mbus4-error {{.Mark}} 42725 ' || {{.Refusal}} || pg_catalog.left(pg_catalog.min(c.qname), 0))::int::pg_catalog.text
       end
from mbus4.consumer c
where (c.qname, c.name) in ({{range $i, $p := .Pairs}}{{if $i}}, {{end}}{{$p}}{{end}})
