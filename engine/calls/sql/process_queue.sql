-- What is left to call when the prelude statement has done the work; see prelude/process_queue.sql. The procedure has no parameters for a policy,
-- whose parameters in the text must be read somewhere.
mbus4.queue_processed({{.Arg "current_process_id"}}, {{if .GivesPolicy}}case when pg_catalog.num_nonnulls({{.Arg "max_attempts"}}, {{.Arg "backoff"}}, {{.Arg "max_backoff"}}, {{.Arg "jitter"}}) >= 0 then {{.Arg "handler"}} end{{else}}{{.Arg "handler"}}{{end}})
