(''::pg_catalog.void)
