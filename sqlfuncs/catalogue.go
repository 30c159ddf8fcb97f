package sqlfuncs

var (
	pQueue    = Param{Name: "qname", Type: Text}
	pConsumer = Param{Name: "cname", Type: Text}
	pDefault  = Param{Name: "cname", Type: Text, Optional: true, Default: "default"}
	pMessage  = Param{Name: "msgid", Type: Text}

	// postParams are shared by post and post_<q>; qname comes from the name in the latter.
	postParams = []Param{
		pQueue,
		{Name: "data", Type: Hstore},
		{Name: "headers", Type: Hstore, Optional: true},
		{Name: "properties", Type: Hstore, Optional: true},
		{Name: "delayed_until", Type: Timestamp, Optional: true},
		{Name: "expires", Type: Timestamp, Optional: true},
		{Name: "iid", Alias: "msgiid", Type: Text, Optional: true},
	}
)

// functions lists everything that is served. Families come after the plain functions: an exact
// name always wins over a family's reading of it.
var functions = []*Func{
	{
		Name: "create_queue", Result: Void, Effect: Writes,
		Params: []Param{pQueue, {Name: "ncons", Alias: "consumers_cnt", Type: Integer}},
	},
	{Name: "drop_queue", Params: []Param{pQueue}, Result: Void, Effect: Writes},
	{
		Name: "create_consumer", Result: Void, Effect: Writes,
		Params: []Param{
			pQueue, pConsumer,
			{Name: "selector", Alias: "p_selector", Type: Text, Optional: true},
			{Name: "noindex", Type: Boolean, Optional: true, Default: "false"},
		},
	},
	{Name: "drop_consumer", Params: []Param{pQueue, pConsumer}, Result: Void, Effect: Writes},
	{Name: "post", Params: postParams, Result: Text, Effect: Writes},
	{
		Name: "consume", Result: Message, Set: true, Effect: Writes,
		Params: []Param{pQueue, pDefault},
	},
	{
		Name: "consumen", Result: Message, Set: true, Effect: Writes,
		Params: []Param{pQueue, pDefault, {Name: "amt", Type: Integer, Optional: true, Default: "1"}},
	},
	{Name: "take", Params: []Param{pMessage}, Result: Message, Effect: Writes},
	{Name: "peek", Params: []Param{pMessage}, Result: Message, Effect: Reads},
	{Name: "is_msg_exists", Params: []Param{pMessage}, Result: Boolean, Effect: Reads},
	{Name: "generate_new_msgiid", Params: []Param{pQueue}, Result: Text, Effect: Draws},
	{Name: "get_iid", Params: []Param{pQueue}, Result: Text, Effect: Draws, Serves: "generate_new_msgiid"},

	{
		Name: "post_<q>", Pattern: "post_", Implied: 1, Serves: "post",
		Params: postParams, Result: Text, Effect: Writes,
	},
	{
		Name: "consume_<q>_by_<c>", Pattern: "consume_", By: true, Implied: 2, Serves: "consume",
		Params: []Param{pQueue, pConsumer}, Result: Message, Set: true, Effect: Writes,
	},
	{
		Name: "consumen_<q>_by_<c>", Pattern: "consumen_", By: true, Implied: 2, Serves: "consumen",
		Params: []Param{pQueue, pConsumer, {Name: "amt", Type: Integer}}, Result: Message, Set: true, Effect: Writes,
	},
	{
		Name: "take_from_<q>_by_<c>", Pattern: "take_from_", By: true, Implied: 2, Serves: "take_from",
		Params: []Param{pQueue, pConsumer, pMessage}, Result: Message, Effect: Writes,
	},
	{
		Name: "peek_<q>", Pattern: "peek_", Implied: 1, Serves: "peek_queue",
		Params: []Param{pQueue, {Name: "msgid", Type: Text, Optional: true}}, Result: Boolean, Effect: Reads,
	},
}
