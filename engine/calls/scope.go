package calls

import (
	"slices"
	"strings"

	"mbusproxy/sqlfuncs"
)

// shape holds the properties of a call that choose the template and its branches. Calls of one
// shape share one filled-in template; what differs between them (names, Condition) is left open as
// places, see sqlfuncs.
type shape struct {
	template     string
	result       string // Func.Serves
	rows         bool
	ordered      bool
	numbered     bool
	conditional  bool
	givesIID     bool
	givesHeaders bool
	givesDelay   bool
	givesKey     bool
	givesWindow  bool
	givesPayload bool
	many         bool
	json         bool
	fixesQueue   bool
	givesAmount  bool
	traced       int
	givesWait    bool
	givesLease   bool
	givesPolicy  bool
	eitherOrder  bool
	reads        string // Use.Reads with a comma before and behind each; "" for all
}

func (t *Texts) shapeOf(f *sqlfuncs.Func, use sqlfuncs.Use) shape {
	traced := 0
	if f.Serves == "post" {
		traced = use.Traced
	}
	template, reads := t.templateOf(f, use), ""
	if template == "lease_one" {
		reads = leasedColumns(use.Reads)
	}
	return shape{
		traced:   traced,
		template: template, reads: reads, result: f.Serves,
		rows: use.Rows, ordered: use.Ordered, numbered: use.Numbered,
		conditional: use.Condition != "", givesIID: use.Given["iid"], givesHeaders: use.Given["headers"], givesDelay: use.Given["delayed_until"],
		givesKey: use.Given["unique_key"], givesWindow: use.Given["unique_for"], fixesQueue: use.Fixed["qname"],
		givesPayload: use.Given["payload"], many: f.Serves == "consumen" || f.Serves == "consume_json", json: f.Result == sqlfuncs.JSONMessage,
		givesAmount: f.Serves == "lease" && use.Given["amt"],
		givesWait:   f.WaitsForOne() && use.Given[f.Wait],
		givesLease:  f.Serves == "lease" && use.Given["lease"],
		givesPolicy: f.Serves == "process_queue" && (use.Given["max_attempts"] || use.Given["backoff"] || use.Given["max_backoff"] || use.Given["jitter"]),
		eitherOrder: use.EitherOrder,
	}
}

// templateOf names the template that serves a call. Some functions have one of their own for calls
// that are evaluated for each row of a set.
func (t *Texts) templateOf(f *sqlfuncs.Func, use sqlfuncs.Use) string {
	name := f.Serves
	switch name {
	case "post":
		if use.Given["unique_key"] || use.Given["unique_for"] {
			return "post_unique"
		}
		if use.Given["iid"] || use.Given["headers"] {
			return "post_full"
		}
	case "lease":
		if !use.Rows && !use.Given["amt"] && use.Fixed["qname"] && (use.Fixed["lease"] || !use.Given["lease"]) {
			return "lease_one"
		}
	case "resume_queue":
		return "pause_queue"
	case "peek_json":
		return "peek"
	case "consume", "consumen", "consume_json", "dyn_consume":
		name = "consume"
		if use.Given["selector"] && use.Condition == "" {
			name = "dyn_consume"
		}
	}
	if rows := name + "_rows"; use.Rows && t.templates.Lookup(rows) != nil {
		return rows
	}
	return name
}

// scope holds what a template that serves a call may name: the values of newScope, and in a part what With adds.
type scope map[string]any

// Places of a call's names and its Condition; those of arguments and of the secret are package sqlfuncs's.
const (
	callPlace      = "call"
	calledPlace    = "called"
	numberPlace    = "number"
	markPlace      = "mark"
	conditionPlace = "condition"
	helperPlace    = "helper:" // and the helper's name

	zero = "\x00" // around a place
)

func newScope(s shape) scope {
	return scope{
		"Call":      zero + callPlace + zero,      // the last WITH query's name, with which those of the others begin
		"Trace":     s.trace(),                    // the statement's trace context, an hstore; "" where there is none
		"Called":    zero + calledPlace + zero,    // the function's name as called, quoted
		"Number":    zero + numberPlace + zero,    // the call's number in the text
		"Mark":      zero + markPlace + zero,      // stands behind mbus4-error, in a literal, and says whose error it is
		"Hstore":    sqlfuncs.BoundHstore,         // the schema of what is hstore's
		"Condition": zero + conditionPlace + zero, // of dyn_consume, where Conditional

		// The functions of the files in sql/whole, with their schema.
		"PostGiven":     helperName(postGiven),
		"Bury":          helperName(bury),
		"Spent":         helperName(spent),
		"Retry":         helperName(retry),
		"Fail":          helperName(fail),
		"Extend":        helperName(extend),
		"Redrive":       helperName(redrive),
		"AlterConsumer": helperName(alterConsumer),
		"Purge":         helperName(purge),
		"NoConsumer":    helperName(noConsumer),
		"PartsOfLease":  helperName(partsOfLease),
		"PostUnique":    helperName(postUnique),
		"AwaitMessage":  helperName(awaitMessage),
		"PostFull":      helperName(postFull), // serves posts with headers or an iid in place

		"Receiver": receiver, // of a consumer c, who consumes

		"Result":       s.result, // the name of the column for the results
		"Rows":         s.rows,
		"Ordered":      s.ordered,
		"Numbered":     s.numbered,
		"Conditional":  s.conditional,
		"GivesIID":     s.givesIID,
		"GivesHeaders": s.givesHeaders,
		"GivesDelay":   s.givesDelay,
		"GivesKey":     s.givesKey,
		"GivesWindow":  s.givesWindow,
		"GivesPayload": s.givesPayload,
		"Many":         s.many, // of what consumes: it takes an amount
		"JSON":         s.json, // the row has a payload
		"EitherOrder":  s.eitherOrder,
		"GivesAmount":  s.givesAmount, // of lease; else it is one message
		"GivesWait":    s.givesWait,   // of take and take_from
		"GivesLease":   s.givesLease,
		"GivesPolicy":  s.givesPolicy, // of process_queue: more than process and handler
		"Columns":      s.reads,       // see Reads
		"FixesQueue":   s.fixesQueue,  // WITH queries may use the argument for the queue, which is the same for all rows
	}
}

// trace is the statement's trace context, an hstore; "" where there is none.
func (s shape) trace() string {
	if s.traced == 0 {
		return ""
	}
	return "(" + sqlfuncs.TracePlace(s.traced) + ")::" + sqlfuncs.HstoreType
}

// helperName is the place of the name of a helper.
func helperName(helper string) string { return zero + helperPlace + helper + zero }

// receiver is the id under which the consumer c looks for its messages: nobody has messages under
// that of a paused one. It is null where there is no consumer.
const receiver = "(case when c.paused is null then c.id else -c.id end)"

// With returns the scope for a template in sql/part: the call's values from newScope, plus given, a
// list of name, SQL, name, SQL, … Values that were given to the part around it are not passed on.
func (s scope) With(given ...string) scope {
	p := newScope(shape{})
	for name := range p {
		if p[name] = s[name]; p[name] == nil {
			delete(p, name) // left out, so that a template that uses it fails (missingkey=error)
		}
	}
	for i := 0; i+1 < len(given); i += 2 {
		p[given[i]] = given[i+1]
	}
	return p
}

// Arg is the argument for a parameter, an expression of its type.
func (s scope) Arg(param string) string { return sqlfuncs.ArgPlace(param) }

// Reads reports whether a column of the result may be read.
func (s scope) Reads(column string) bool {
	columns := s["Columns"].(string)
	return columns == "" || strings.Contains(columns, ","+column+",")
}

// Read is the expression for a column of the result, or null where nobody reads it.
func (s scope) Read(column, expression string) string {
	if s.Reads(column) {
		return expression
	}
	return "null"
}

// leasedFrom has the columns of mbus4.message, each with those of a leased row that are made of it:
// see sql/part/leased_row.sql.
var leasedFrom = [][]string{ //nolint:gochecknoglobals // constant
	{"id", "id", "lease"},
	{"consumer_id", "headers", "lease"},
	{"available_at", "lease", "leased_until"},
	{"added", "added", "delayed_until", "headers"},
	{"delayed_until", "delayed_until"},
	{"expires", "expires"},
	{"received", "received"},
	{"headers", "headers", "payload", "attempt", "lease"},
	{"properties", "properties"},
	{"data", "data", "payload"},
	{"iid", "iid"},
}

// Kept lists the columns of mbus4.message that a leased row is made of, as far as it is read: at least one.
func (s scope) Kept(row string) string {
	var kept []string
	for _, c := range leasedFrom {
		if slices.ContainsFunc(c[1:], s.Reads) {
			kept = append(kept, row+"."+c[0])
		}
	}
	if kept == nil {
		return row + ".id"
	}
	return strings.Join(kept, ", ")
}

// leasedColumns is shape.reads for the columns of a leased row that are read: "" for all, and where one is unknown.
func leasedColumns(read []string) string {
	columns := ","
	for _, c := range read {
		if !slices.ContainsFunc(leasedFrom, func(from []string) bool { return slices.Contains(from[1:], c) }) {
			return ""
		}
		columns += c + ","
	}
	if read == nil {
		return ""
	}
	return columns
}

// MarkOf is Mark for an error of the call that a row is for: where there are several, its column n
// is the call's number.
func (s scope) MarkOf(row string) string {
	if s["Numbered"] == true {
		return "'||" + row + ".n||' " + sqlfuncs.SecretPlace
	}
	return zero + markPlace + zero
}

// pieces is a text cut at its places: every other one is a place's name.
type pieces []string

// mostNarrow bounds how many texts are kept that are for some columns only: clients choose which.
const mostNarrow = 256

// pieces returns the text for a shape.
func (t *Texts) pieces(s shape) pieces {
	if p, ok := t.filled.Load(s); ok {
		return p.(pieces)
	}
	p := pieces(strings.Split(t.fill(s.template, newScope(s)), zero))
	if s.reads == "" || t.narrow.Add(1) <= mostNarrow {
		t.filled.Store(s, p)
	}
	return p
}

// has reports whether a text has a place.
func (p pieces) has(place string) bool {
	for i := 1; i < len(p); i += 2 {
		if p[i] == place {
			return true
		}
	}
	return false
}

// put puts what a call brings into its places. Those of the secret stay, and those of arguments where names has none.
func (t *Texts) put(p pieces, names sqlfuncs.Names, condition string) string {
	var b strings.Builder
	size := 0
	for _, text := range p {
		size += len(text) + len(names.Call)
	}
	b.Grow(size)
	for i, text := range p {
		if i%2 == 0 {
			b.WriteString(text)
			continue
		}
		switch text {
		case callPlace:
			b.WriteString(names.Call)
		case calledPlace:
			b.WriteString(names.Called)
		case numberPlace:
			b.WriteString(names.Number)
		case markPlace:
			b.WriteString(names.Mark)
		case conditionPlace:
			b.WriteString(condition)
		default:
			if helper, ok := strings.CutPrefix(text, helperPlace); ok {
				b.WriteString(sqlfuncs.Schema + "." + t.helperName(helper))
				continue
			}
			place := zero + text + zero
			if _, param, _, _ := sqlfuncs.CutPlace(place); param != "" {
				if _, traces := sqlfuncs.TraceWidth(param); !traces {
					place = names.Argument(param)
				}
			}
			b.WriteString(place)
		}
	}
	return b.String()
}
