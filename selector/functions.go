package selector

// function is one of the functions that a selector may call. A name and a number of arguments determine it.
type function struct {
	name     string
	args     []typ
	result   typ
	hstore   bool   // it is one of the extension's
	constant []bool // arguments that must be constants, since its cost is the product of the arguments' lengths
	make     func(c *compiler, f *function, args []*expr) (*expr, *Error)
}

// anyNumber in a signature: see the function that makes the call.
const anyNumber = unknown

var functions = []function{
	{name: "length", args: []typ{text}, result: int4, make: makeLength},
	{name: "char_length", args: []typ{text}, result: int4, make: makeLength},
	{name: "character_length", args: []typ{text}, result: int4, make: makeLength},
	{name: "octet_length", args: []typ{text}, result: int4, make: makeLength},
	{name: "lower", args: []typ{text}, result: text, make: makeText},
	{name: "upper", args: []typ{text}, result: text, make: makeText},
	{name: "initcap", args: []typ{text}, result: text, make: makeText},
	{name: "reverse", args: []typ{text}, result: text, make: makeText},
	{name: "md5", args: []typ{text}, result: text, make: makeText},
	{name: "btrim", args: []typ{text}, result: text, make: makeText},
	{name: "btrim", args: []typ{text, text}, result: text, constant: []bool{false, true}, make: makeText},
	{name: "ltrim", args: []typ{text}, result: text, make: makeText},
	{name: "ltrim", args: []typ{text, text}, result: text, constant: []bool{false, true}, make: makeText},
	{name: "rtrim", args: []typ{text}, result: text, make: makeText},
	{name: "rtrim", args: []typ{text, text}, result: text, constant: []bool{false, true}, make: makeText},
	{name: "left", args: []typ{text, int4}, result: text, make: makeText},
	{name: "right", args: []typ{text, int4}, result: text, make: makeText},
	{name: "substr", args: []typ{text, int4}, result: text, make: makeText},
	{name: "substr", args: []typ{text, int4, int4}, result: text, make: makeSubstr},
	{name: "substring", args: []typ{text, int4}, result: text, make: makeText},
	{name: "substring", args: []typ{text, int4, int4}, result: text, make: makeSubstr},
	{name: "translate", args: []typ{text, text, text}, result: text, constant: []bool{false, true, true}, make: makeText},
	{name: "replace", args: []typ{text, text, text}, result: text, constant: []bool{false, true, true}, make: makeReplace},
	{name: "split_part", args: []typ{text, text, int4}, result: text, constant: []bool{false, true, false}, make: makeSplitPart},
	{name: "string_to_array", args: []typ{text, text}, result: text | array, constant: []bool{false, true}, make: makeText},
	{name: "strpos", args: []typ{text, text}, result: int4, constant: []bool{false, true}, make: makeLength},
	{name: "position", args: []typ{text, text}, result: int4, constant: []bool{false, true}, make: makeLength},
	{name: "starts_with", args: []typ{text, text}, result: boolean, make: makeText},

	{name: "abs", args: []typ{anyNumber}, make: makeAbs},
	{name: "sign", args: []typ{anyNumber}, make: makeRound},
	{name: "ceil", args: []typ{anyNumber}, make: makeRound},
	{name: "ceiling", args: []typ{anyNumber}, make: makeRound},
	{name: "floor", args: []typ{anyNumber}, make: makeRound},
	{name: "round", args: []typ{anyNumber}, make: makeRound},
	{name: "trunc", args: []typ{anyNumber}, make: makeRound},
	{name: "round", args: []typ{numeric, int4}, result: numeric, constant: []bool{false, true}, make: makeScale},
	{name: "trunc", args: []typ{numeric, int4}, result: numeric, constant: []bool{false, true}, make: makeScale},
	{name: "mod", args: []typ{anyNumber, anyNumber}, make: makeMod},

	{name: "extract", args: []typ{text, timestamp}, result: numeric, constant: []bool{true, false}, make: makeExtract},
	{name: "date_part", args: []typ{text, timestamp}, result: float8, constant: []bool{true, false}, make: makeExtract},

	{name: "cardinality", args: []typ{text | array}, result: int4, make: makeArrayLength},
	{name: "array_length", args: []typ{text | array, int4}, result: int4, make: makeArrayLength},

	{name: "jsonb_typeof", args: []typ{jsonb}, result: text, make: makeStrict},

	{name: "exist", args: []typ{hstore, text}, result: boolean, hstore: true, make: makeStrict},
	{name: "defined", args: []typ{hstore, text}, result: boolean, hstore: true, make: makeStrict},
	{name: "isexists", args: []typ{hstore, text}, result: boolean, hstore: true, make: makeStrict},
	{name: "isdefined", args: []typ{hstore, text}, result: boolean, hstore: true, make: makeStrict},
	{name: "fetchval", args: []typ{hstore, text}, result: text, hstore: true, make: makeStrict},
	{name: "exists_any", args: []typ{hstore, text | array}, result: boolean, hstore: true, make: makeStrict},
	{name: "exists_all", args: []typ{hstore, text | array}, result: boolean, hstore: true, make: makeStrict},
	{name: "akeys", args: []typ{hstore}, result: text | array, hstore: true, make: makeStrict},
	{name: "avals", args: []typ{hstore}, result: text | array, hstore: true, make: makeStrict},
	{name: "slice", args: []typ{hstore, text | array}, result: hstore, hstore: true, make: makeStrict},
}

// Names of functions that clients may expect to work, for the reason why they do not.
var (
	aggregates = map[string]bool{"count": true, "sum": true, "min": true, "max": true, "avg": true, "string_agg": true, "array_agg": true, "bool_and": true, "bool_or": true, "every": true}
	windows    = map[string]bool{"row_number": true, "rank": true, "dense_rank": true, "lag": true, "lead": true, "ntile": true, "first_value": true, "last_value": true}
	sets       = map[string]bool{"generate_series": true, "unnest": true, "each": true, "skeys": true, "svals": true, "regexp_split_to_table": true, "regexp_matches": true, "string_to_table": true}
	changing   = map[string]bool{
		"now": true, "random": true, "clock_timestamp": true, "statement_timestamp": true, "transaction_timestamp": true, "timeofday": true, "nextval": true,
		"currval": true, "setval": true, "current_setting": true, "pg_sleep": true, "txid_current": true, "gen_random_uuid": true, "age": true, "to_char": true,
		"to_date": true, "to_timestamp": true, "to_number": true, "concat": true, "concat_ws": true, "format": true, "pg_backend_pid": true, "inet_client_addr": true,
		"array_to_string": true, "timezone": true, "date_trunc": false,
	}
)
