-- That a message could be delivered to its consumer now, as far as one sees without locking it. Row: a row of mbus4.message.
({{.Row}}.available_at <= pg_catalog.clock_timestamp() and not ({{.Row}}.after is not null and mbus4.awaits_delivery({{.Row}}.after))
 and (select c.paused is null from mbus4.consumer c where c.id = {{.Row}}.consumer_id offset 0))
