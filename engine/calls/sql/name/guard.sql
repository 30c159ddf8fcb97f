-- True, or an error where the call no longer means a function of ours. {ours}: ours.sql.
(select case when {ours} then true
             else pg_catalog.format('mbus4-error {k} 42725 the name %s no longer means mbus4.%s', {called}, {called})::int is null end)
