-- That all consumers of a queue get what is posted to it. w.consumers: the array of part/subscribers.sql.
w.consumers <> '{}' and pg_catalog.array_position(w.consumers, null) is null
