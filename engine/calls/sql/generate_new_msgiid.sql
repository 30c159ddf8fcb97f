((select coalesce(
        (select q.qname from mbus4.queue q where q.qname = pg_catalog.lower(a.qname)),
        pg_catalog.format('mbus4-error {{.Mark}} 42704 queue %s does not exist', coalesce('"' || a.qname || '"', 'null'))::int::text)
  from (select {{.Arg "qname"}} as qname) a) || '.' || pg_catalog.current_database() || '.' || pg_catalog.nextval('mbus4.message_id'))
