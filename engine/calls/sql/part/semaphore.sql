-- What is wrong with a call about a semaphore, an error; null: nothing. Args: the arguments, Row: the
-- semaphore found.
when {{.Args}}.key is null then pg_catalog.left(pg_catalog.format('mbus4-error {{.MarkOf .Args}} 22004 the key of a semaphore must not be null%s', {{.Args}}.key), 2000)::int
when {{.Row}}.id is null then pg_catalog.left(pg_catalog.format('mbus4-error {{.MarkOf .Args}} 42704 semaphore "%s" does not exist', {{.Args}}.key), 2000)::int
