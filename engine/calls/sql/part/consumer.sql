-- The id of the consumer that a call names, or its error. $1: the arguments, $2: the consumer found.
coalesce(
    $2.id,
    (case when exists (select from mbus4.queue q where q.name = pg_catalog.lower($1.qname))
          then pg_catalog.format('mbus4-error {k.$1} 42704 queue "%s" has no consumer %s', $1.qname, coalesce('"' || $1.cname || '"', 'null'))
          else pg_catalog.format('mbus4-error {k.$1} 42704 queue %s does not exist', coalesce('"' || $1.qname || '"', 'null'))
     end)::int)
