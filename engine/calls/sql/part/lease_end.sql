-- When a lease ends, of its name's last part: it is where its message stands in the primary key. Part: that part.
pg_catalog.timestamptz 'epoch' + ({{.Part}})::bigint::pg_catalog.float8 * interval '1 microsecond'
