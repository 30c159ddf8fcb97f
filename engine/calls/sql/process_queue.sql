-- What is left to call when the step has done the work; see step/process_queue.sql.
mbus4.queue_processed({{.Arg "current_process_id"}}, {{.Arg "handler"}})
