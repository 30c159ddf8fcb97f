-- How long a call waits, the function's $5, and what bounds that in the session; see whole/await.sql.
pg_catalog.concat_ws(' ', pg_catalog.date_part('epoch', $5) * 1000000::pg_catalog.float8,
    pg_catalog.date_part('epoch', pg_catalog.current_setting('statement_timeout')::interval) * 1000::pg_catalog.float8,
    pg_catalog.date_part('epoch', pg_catalog.current_setting('idle_in_transaction_session_timeout')::interval) * 1000::pg_catalog.float8,
    pg_catalog.date_part('epoch', pg_catalog.current_setting('idle_session_timeout')::interval) * 1000::pg_catalog.float8,
    pg_catalog.replace(pg_catalog.current_setting('transaction_isolation'), ' ', '_'))
