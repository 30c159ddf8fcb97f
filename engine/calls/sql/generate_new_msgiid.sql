-- A queue that has yet to be created has iids all the same. It begins with the name as the queue bears it.
(pg_catalog.lower({{.Arg "qname"}}) || '.' || pg_catalog.current_database() || '.' || pg_catalog.nextval('mbus4.message_id'))
