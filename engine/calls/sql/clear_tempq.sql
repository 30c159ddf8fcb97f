coalesce(mbus4.drop_dead_temporary_queues(), ''::pg_catalog.void)
