package sqlfuncs

// workQueue lists the calls of the work queue.
var workQueue = []*Func{
	{Name: "add_message", Params: []Param{{Name: "payload", Type: JSONB}}, Result: BigInt, Effect: Writes},
	{
		Name: "get_next_message", Result: WorkMessage, Set: true, Effect: Writes,
		Params: []Param{{Name: "current_process_id", Type: Integer}},
	},
	{Name: "complete_message", Params: []Param{{Name: "message_id", Type: BigInt}}, Result: Void, Effect: Writes},
	{
		Name: "process_queue", Result: Void, Effect: Native, Prelude: true, Procedure: true,
		Params: []Param{
			{Name: "current_process_id", Type: Integer, Computed: true},
			{Name: "handler", Type: Text, Optional: true, Computed: true},
			{Name: "max_attempts", Type: Integer, Optional: true, Computed: true},
			{Name: "backoff", Type: Interval, Optional: true, Computed: true},
			{Name: "max_backoff", Type: Interval, Optional: true, Computed: true},
			{Name: "jitter", Type: Double, Optional: true, Computed: true},
		},
	},
	{Name: "release_messages", Params: []Param{{Name: "process_id", Type: Integer}}, Result: BigInt, Effect: Writes},
}
