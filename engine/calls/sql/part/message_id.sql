-- A new message's id. Queue: the queue that it is for, in lower case; Once: set where that is the same for all rows, and so asked for once. By
-- the two locks, which stay to the end of the transaction, the hinter (engine/housekeeping/posters.go) knows which queues the transaction
-- posts to. That of message_id, which stands for all queues, takes who does not get the other one. The clock is read after it.
case when {{if .Once}}(select {{end}}pg_catalog.pg_try_advisory_xact_lock_shared(1835169140, pg_catalog.hashtext({{.Queue}}) & 63){{if .Once}}){{end}} then pg_catalog.nextval('mbus4.post_id')
     when pg_catalog.nextval('mbus4.message_id') > 0 then pg_catalog.nextval('mbus4.post_id') end
