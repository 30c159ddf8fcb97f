-- $1: a message.
($1.expires is null or $1.expires > pg_catalog.clock_timestamp())
