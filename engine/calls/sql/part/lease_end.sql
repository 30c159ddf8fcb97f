-- When a lease ends, of its name's last part: it is where its message stands in the primary key. Part: that part.
timestamptz 'epoch' + ({{.Part}})::bigint::float8 * interval '1 microsecond'
