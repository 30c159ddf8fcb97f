-- Whether a name is that of a temporary queue, which may be gone: whoever replies to it must not fail, and what is posted is
-- discarded. Queue: the name.
pg_catalog.starts_with({{.Queue}}, 'temp.')
