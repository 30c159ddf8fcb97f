package sqlfuncs

var (
	pQueue    = Param{Name: "qname", Type: Text}
	pConsumer = Param{Name: "cname", Type: Text}
	pDefault  = Param{Name: "cname", Type: Text, Optional: true, Default: "default"}
	// pAnyConsumer stands for all of a queue's consumers where it is null.
	pAnyConsumer = Param{Name: "cname", Type: Text, Optional: true}

	pMessage  = Param{Name: "msgid", Alias: "msgiid", Type: Text}
	pSelector = Param{Name: "selector", Type: Text, Optional: true}

	pWait  = Param{Name: "wait", Type: Interval, Optional: true, Rare: true}
	pLease = Param{Name: "lease", Type: Text}
	pError = Param{Name: "error", Type: Text, Optional: true}

	pSource    = Param{Name: "src", Type: Text}
	pTarget    = Param{Name: "dst", Type: Text}
	pStatement = Param{Name: "exec", Type: Text, Computed: true}

	// postParams are shared by post and post_<q>; qname comes from the name in the latter.
	postParams = append([]Param{pQueue}, messageParams...)
	// messageParams say what is posted.
	messageParams = []Param{
		{Name: "data", Type: Hstore, Optional: true, Instead: "payload"},
		{Name: "headers", Type: Hstore, Optional: true},
		{Name: "properties", Type: Hstore, Optional: true},
		{Name: "delayed_until", Type: Timestamp, Optional: true},
		{Name: "expires", Type: Timestamp, Optional: true},
		{Name: "iid", Alias: "msgiid", Type: Text, Optional: true},
		{Name: "unique_key", Type: Text, Optional: true, Rare: true},
		{Name: "unique_for", Type: Interval, Optional: true, Rare: true},
		{Name: "payload", Type: JSONB, Optional: true, Rare: true},
	}
)

// functions lists the functions of the message bus; those of the work queue and the semaphore
// follow (workqueue.go, semaphore.go). Families come after the plain functions: an exact name
// always wins over a family's reading of it.
var functions = []*Func{
	{
		Name: "create_queue", Result: Void, Effect: Writes,
		Params: []Param{pQueue, {Name: "ncons", Alias: "consumers_cnt", Type: Integer}},
	},
	{Name: "drop_queue", Params: []Param{pQueue}, Result: Void, Effect: Writes},
	{
		Name: "create_consumer", Result: Void, Effect: Writes, Selector: "selector", EitherOrder: true,
		Params: []Param{
			pQueue, pConsumer,
			{Name: "selector", Alias: "p_selector", Type: Text, Optional: true},
			{Name: "noindex", Type: Boolean, Optional: true, Default: "false"},
		},
	},
	{
		Name: "purge_queue", Result: BigInt, Effect: Writes,
		Params: []Param{pQueue, pAnyConsumer},
	},
	{Name: "pause_queue", Params: []Param{pQueue, pAnyConsumer}, Result: Void, Effect: Writes},
	{Name: "resume_queue", Params: []Param{pQueue, pAnyConsumer}, Result: Void, Effect: Writes},
	{Name: "drop_consumer", Params: []Param{pQueue, pConsumer}, Result: Void, Effect: Writes, EitherOrder: true},
	{Name: "post", Params: postParams, Result: Text, Effect: Writes},
	{
		Name: "post_temp", Serves: "post", Result: Text, Effect: Writes,
		Params: append([]Param{{Name: "qname", Alias: "tqname", ByAlias: true, Type: Text}}, messageParams...),
	},
	{
		Name: "consume", Result: Message, Set: true, Effect: Writes, Wait: "wait",
		Params: []Param{pQueue, pDefault, pWait},
	},
	{
		Name: "consume_dmq", Serves: "consume", Result: Message, Set: true, Effect: Writes, Wait: "wait",
		Params: []Param{pQueue, pConsumer, pWait}, Implied: 2, Implies: []string{"dmq", "default"},
	},
	{
		Name: "consume_temp", Serves: "consume", Result: Message, Set: true, Effect: Writes, Wait: "wait",
		Params: []Param{pConsumer, {Name: "qname", Alias: "tqname", ByAlias: true, Type: Text}, pWait}, Implied: 1, Implies: []string{"default"},
	},
	{
		Name: "consumen", Result: Message, Set: true, Effect: Writes, Amount: "amt", Wait: "wait",
		Params: []Param{pQueue, pDefault, {Name: "amt", Type: Integer, Optional: true, Default: "1"}, pWait},
	},
	{
		Name: "consume_json", Result: JSONMessage, Set: true, Effect: Writes, Amount: "amt", Wait: "wait",
		Params: []Param{pQueue, pDefault, {Name: "amt", Type: Integer, Optional: true, Default: "1"}, pWait},
	},
	{
		Name: "dyn_consume", Result: Message, Set: true, Effect: Writes, Condition: "selector", Wait: "wait",
		Params: []Param{pQueue, {Name: "selector", Type: Text, Optional: true, Default: "(1=1)"}, pDefault, pWait},
	},
	{
		Name: "schedule", Result: Void, Effect: Writes, Checked: []string{"cron", "timezone"},
		Params: []Param{
			{Name: "name", Type: Text},
			{Name: "cron", Type: Text},
			pQueue,
			{Name: "data", Type: Hstore, Optional: true},
			{Name: "headers", Type: Hstore, Optional: true},
			{Name: "properties", Type: Hstore, Optional: true},
			{Name: "timezone", Type: Text, Optional: true, Default: "UTC"},
			{Name: "payload", Type: JSONB, Optional: true, Rare: true},
		},
	},
	{Name: "unschedule", Params: []Param{{Name: "name", Type: Text}}, Result: Boolean, Effect: Writes},
	{Name: "take", Params: []Param{pMessage, pWait}, Result: Message, Effect: Writes, Wait: "wait"},
	{Name: "peek", Params: []Param{pMessage}, Result: Message, Effect: Reads},
	{Name: "peek_json", Params: []Param{pMessage}, Result: JSONMessage, Effect: Reads},
	{Name: "is_msg_exists", Params: []Param{pMessage}, Result: Boolean, Effect: Reads},
	{Name: "generate_new_msgiid", Params: []Param{pQueue}, Result: Text, Effect: Draws},
	{Name: "get_iid", Params: []Param{pQueue}, Result: Text, Effect: Draws, Serves: "generate_new_msgiid"},
	{Name: "create_temporary_queue", Result: Text, Effect: Native},
	{
		Name: "create_temporary_consumer", Result: Text, Effect: Native, Selector: "selector",
		Params: []Param{
			{Name: "qname", Alias: "cname", Type: Text},
			{Name: "selector", Alias: "p_selector", Type: Text, Optional: true},
		},
	},
	{Name: "clear_tempq", Result: Void, Effect: Native},
	{
		Name: "create_trigger", Result: Void, Effect: Writes, Selector: "selector",
		Params: []Param{pSource, pTarget, pSelector},
	},
	{Name: "drop_trigger", Params: []Param{pSource, pTarget}, Result: Void, Effect: Writes},
	{Name: "create_run_function", Params: []Param{pQueue}, Result: Void, Effect: Reads},
	{
		Name: "create_view", Result: Void, Effect: Native, Prelude: true,
		Params: []Param{pQueue, pDefault, {Name: "viewname", Type: Text, Optional: true}},
	},
	{
		Name: "create_view_prop", Result: Void, Effect: Native, Prelude: true,
		Params: []Param{
			pQueue, pConsumer,
			{Name: "sname", Type: Text},
			{Name: "viewname", Type: Text},
			{Name: "with_delay", Type: Boolean, Optional: true, Default: "false"},
			{Name: "with_expire", Type: Boolean, Optional: true, Default: "false"},
		},
	},
	{Name: "estimated_messages", Params: []Param{pQueue}, Result: BigInt, Effect: Reads},
	{
		Name: "why", Result: Reason, Set: true, Effect: Writes,
		Params: []Param{{Name: "iid", Alias: "msgid", Type: Text}},
	},
	{
		Name: "lease", Result: LeasedMessage, Set: true, Effect: Writes, Amount: "amt", Wait: "wait",
		Params: []Param{pQueue, pDefault, {Name: "amt", Type: Integer, Optional: true, Default: "1"}, {Name: "lease", Type: Interval, Optional: true}, pWait},
	},
	{Name: "ack", Params: []Param{pLease}, Result: Boolean, Effect: Writes},
	{
		Name: "retry", Result: Boolean, Effect: Native,
		Params: []Param{{Name: "lease", Alias: "message", Type: LeaseOrMessage}, pError, {Name: "delay", Type: Interval, Optional: true}, {Name: "cname", Type: Text, Optional: true}},
	},
	{Name: "fail", Params: []Param{pLease, pError}, Result: Boolean, Effect: Native},
	{Name: "extend", Params: []Param{pLease, {Name: "duration", Type: Interval, Optional: true}}, Result: Text, Effect: Native},
	{
		Name: "alter_consumer", Result: Void, Effect: Native,
		Params: []Param{
			pQueue, pDefault,
			{Name: "max_attempts", Type: Integer, Optional: true},
			{Name: "backoff", Type: Interval, Optional: true},
			{Name: "max_backoff", Type: Interval, Optional: true},
			{Name: "jitter", Type: Double, Optional: true},
			{Name: "lease", Type: Interval, Optional: true},
		},
	},
	{
		Name: "redrive", Result: BigInt, Effect: Native, Selector: "selector",
		Params: []Param{{Name: "qname", Type: Text, Optional: true}, pSelector, {Name: "amt", Type: Integer, Optional: true}},
	},
	{Name: "readme", Result: Text, Effect: Reads},
	{Name: "regenerate_functions", Result: Void, Effect: Reads},

	{
		Name: "post_<q>", Pattern: "post_", Implied: 1, Serves: "post",
		Params: postParams, Result: Text, Effect: Writes,
	},
	{
		Name: "consume_<q>_by_<c>", Pattern: "consume_", By: true, Implied: 2, Serves: "consume",
		Params: []Param{pQueue, pConsumer, pWait}, Result: Message, Set: true, Effect: Writes, Wait: "wait",
	},
	{
		Name: "consumen_<q>_by_<c>", Pattern: "consumen_", By: true, Implied: 2, Serves: "consumen",
		Params: []Param{pQueue, pConsumer, {Name: "amt", Type: Integer}, pWait}, Result: Message, Set: true, Effect: Writes, Amount: "amt", Wait: "wait",
	},
	{
		Name: "take_from_<q>_by_<c>", Pattern: "take_from_", By: true, Implied: 2, Serves: "take_from",
		Params: []Param{pQueue, pConsumer, pMessage, pWait}, Result: Message, Effect: Writes, Wait: "wait",
	},
	{
		Name: "peek_<q>", Pattern: "peek_", Implied: 1, Serves: "peek_queue",
		Params: []Param{pQueue, {Name: "msgid", Alias: "msgiid", Type: Text, Optional: true}}, Result: Boolean, Effect: Reads,
	},
	{
		Name: "clear_queue_<q>", Pattern: "clear_queue_", Implied: 1, Serves: "clear_queue",
		Params: []Param{pQueue}, Result: Void, Effect: Writes,
	},
	// run_on_<q> comes first: run_on_x is not run_<q> of a queue on_x.
	{
		Name: "run_on_<q>", Pattern: "run_on_", Implied: 1, Serves: "run_on",
		Params: []Param{pQueue, pStatement}, Result: Integer, Effect: Native, Prelude: true,
	},
	{
		Name: "run_<q>", Pattern: "run_", Implied: 1, Serves: "run_on",
		Params: []Param{pQueue, pStatement}, Result: Integer, Effect: Native, Prelude: true,
	},
}
