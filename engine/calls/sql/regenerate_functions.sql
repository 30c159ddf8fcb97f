-- There is nothing to regenerate.
(select ''::pg_catalog.void as {{.Called}})
