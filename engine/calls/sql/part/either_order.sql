-- What makes sure that no more than one of two names, which may stand in either order, is a queue's: true, or an error. Function:
-- what was called, Args: the arguments. dmq is no consumer's name and has but one consumer.
case when pg_catalog.lower({{.Args}}.qname collate "C") <> pg_catalog.lower({{.Args}}.cname collate "C")
          and exists (select from mbus4.queue q where q.qname = pg_catalog.lower({{.Args}}.qname collate "C") and q.kind <> 'dmq')
          and exists (select from mbus4.queue q where q.qname = pg_catalog.lower({{.Args}}.cname collate "C") and q.kind <> 'dmq')
     then pg_catalog.left(pg_catalog.format('mbus4-error {{.MarkOf .Args}} 42725 mbus4.{{.Function}}("%s", "%s") may mean either order: both are queues',
              pg_catalog.lower({{.Args}}.qname collate "C"), pg_catalog.lower({{.Args}}.cname collate "C")), 2000)::int = 0
     else true end
