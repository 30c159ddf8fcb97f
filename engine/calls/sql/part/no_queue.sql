-- The error of a call for a queue that does not exist, an integer. Args: the arguments, whose n says which call it
-- is, Queue: the queue.
pg_catalog.left(pg_catalog.format('mbus4-error {{.MarkOf .Args}} 42704 queue %s does not exist', coalesce('"' || {{.Queue}} || '"', 'null')), 2000)::int
