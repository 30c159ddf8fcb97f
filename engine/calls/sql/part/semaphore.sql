-- What is wrong with a call about a semaphore, an error; null: nothing. $1: the arguments, $2: the
-- semaphore found.
when $1.key is null then pg_catalog.format('mbus4-error {k.$1} 22004 the key of a semaphore must not be null%s', $1.key)::int
when $2.id is null then pg_catalog.format('mbus4-error {k.$1} 42704 semaphore "%s" does not exist', $1.key)::int
