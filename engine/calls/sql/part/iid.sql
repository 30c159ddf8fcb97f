-- $1: a queue, $2: its message's available_at, $3: and id. See migrations/0003_iids.sql.
$1 || '.' || pg_catalog.current_database() || '.' || (extract(epoch from $2) * 1000000)::bigint || $3
