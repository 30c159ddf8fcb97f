-- The error of a call for a queue that does not exist, an integer. $1: the arguments, whose n says which call it
-- is, $2: the queue.
pg_catalog.format('mbus4-error {k.$1} 42704 queue %s does not exist', coalesce('"' || $2 || '"', 'null'))::int
