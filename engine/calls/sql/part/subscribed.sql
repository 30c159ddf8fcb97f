-- Who gets a message: the consumers of its queue if they get everything, else whoever Late says. It may be null.
case when w.consumers <> '{}' and pg_catalog.array_position(w.consumers, null) is null then w.consumers else {{.Late}} end
