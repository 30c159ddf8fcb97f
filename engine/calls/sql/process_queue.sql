-- What is left to call when the prelude statement has done the work; see prelude/process_queue.sql.
mbus4.queue_processed({{.Arg "current_process_id"}}, {{.Arg "handler"}})
