-- The id of the consumer that a call names, or its error. Args: the arguments, ID: the id of the consumer found, if any.
coalesce(
    {{.ID}},
    (case when (select 1 from mbus4.queue q where q.qname = pg_catalog.lower({{.Args}}.qname collate "C")) is not null
          then pg_catalog.format('mbus4-error {{.MarkOf .Args}} 42704 queue "%s" has no consumer %s', {{.Args}}.qname, coalesce('"' || {{.Args}}.cname || '"', 'null'))
          else pg_catalog.format('mbus4-error {{.MarkOf .Args}} 42704 queue %s does not exist', coalesce('"' || {{.Args}}.qname || '"', 'null'))
     end)::int)
