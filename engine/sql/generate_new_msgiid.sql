((select coalesce(
        (select q.name from mbus4.queue q where q.name = lower(a.qname)),
        format('mbus4-error {k} 42704 queue %s does not exist', coalesce('"' || a.qname || '"', 'null'))::int::text)
  from (select {qname} as qname) a) || '.' || current_database() || '.' || nextval('mbus4.message_id'))
