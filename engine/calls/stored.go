package calls

import (
	"crypto/md5"
	"encoding/hex"
	"maps"
	"slices"
	"strconv"
	"strings"

	"mbusproxy/sqlfuncs"
)

// Where a call cannot be served inside the client's statement, a function in the database serves it:
// mbus4.at_<name>, volatile, in SQL, made of the same texts. So the server itself decides whether and
// how often it runs. Its parameters are those of the call and the call's mark: its number in the client's text
// and the session's secret, for errors. See docs/adr/0010-functions.md.
//
// A function is named by what it does: at_post_<hash of its definition>. So a program that has
// another text for post makes a function beside this one, and neither is ever replaced: any number
// of versions of the program can use one database.

// FunctionPrefix starts the names of the functions. No function of the catalogue has a name that starts so.
const FunctionPrefix = "at_"

// variant is one of the functions that are made of one text. A text has a second one where few
// calls need the dearer parts of it.
type variant struct {
	suffix  string   // of the name
	without []string // parameters that it does not have
	ordered bool
	either  bool // the order of the first two arguments
}

// plainPost are the parameters that the plain variant of post does not have, because a post that
// gives them takes several times longer.
var plainPost = []string{"headers", "iid"}

// uniquePost are those of what is posted once, jsonPost that of a message in JSON.
var (
	uniquePost = []string{"unique_key", "unique_for"}
	jsonPost   = []string{"payload"}
)

// variants lists the functions for f, the plainest first.
func (t *Texts) variants(f *sqlfuncs.Func) []variant {
	switch {
	case f.Serves == "post":
		plain := slices.Concat(uniquePost, jsonPost)
		return []variant{
			{without: slices.Concat(plainPost, plain)},
			{suffix: "_full", without: plain},
			{suffix: "_json", without: uniquePost},
			{suffix: "_unique"},
		}
	case f.EitherOrder:
		return []variant{{}, {suffix: "_either", either: true}}
	case t.wakes(f):
		return []variant{{}, {suffix: "_waking", ordered: true}}
	}
	return []variant{{}}
}

// variant chooses the function for a call: the plainest that takes all arguments given.
func (t *Texts) variant(f *sqlfuncs.Func, use sqlfuncs.Use) variant {
	var fit []variant
	for _, v := range t.variants(f) {
		if v.either == use.EitherOrder && !slices.ContainsFunc(v.without, func(p string) bool { return use.Given[p] }) {
			fit = append(fit, v)
		}
	}
	if i := slices.IndexFunc(fit, func(v variant) bool { return v.ordered == use.Ordered }); i >= 0 {
		return fit[i]
	}
	return fit[0] // order makes no difference to it
}

// Definition is a function as it is to be created.
type Definition struct {
	Name      string // without the schema
	Signature string // as for drop function
	Create    string
	Inline    bool // texts that serve calls inline call it, too
}

// functionCall is the expression that calls the function.
func (t *Texts) functionCall(f *sqlfuncs.Func, use sqlfuncs.Use, names sqlfuncs.Names) string {
	serves := f.Serves
	if serves == "dyn_consume" && !use.Given["selector"] {
		serves = "consume" // its parameters are among the other's
	}
	params := f.Params
	if match, ok := sqlfuncs.Lookup(serves); ok && match.Func.Serves == serves {
		f, params = match.Func, match.Func.Params // of the function that is made: a name that implies some may have another order
	}
	traced := t.shapeOf(f, use)
	if traced.traced > 0 {
		use.Given = maps.Clone(use.Given)
		use.Given["headers"] = true
	}
	v := t.variant(f, use)
	args := make([]string, 0, len(params)+1)
	for _, p := range params {
		if !slices.Contains(v.without, p.Name) && p.Name != f.Wait {
			arg := names.Argument(p.Name)
			if p.Name == "headers" && traced.traced > 0 { // once, for it may have an effect
				arg = t.put(strings.Split("("+traced.trace()+" operator("+sqlfuncs.BoundHstore+".||) coalesce("+sqlfuncs.ArgPlace("headers")+", ''))", zero), names, "")
			}
			args = append(args, arg)
		}
	}
	call := sqlfuncs.Schema + "." + t.functionName(f, v) + "(" + strings.Join(append(args, "'"+names.Mark+"'"), ", ") + ")"
	if f.Result == sqlfuncs.Void {
		return "coalesce(" + call + ", ''::pg_catalog.void)" // a void function in SQL returns null, in any other language an empty void
	}
	return call
}

// Definitions lists the functions for all texts that serve calls.
func (t *Texts) Definitions() []Definition {
	var out []Definition
	full := t.helperName(postFull)
	for _, helper := range helpers { // first, for the others call them
		out = append(out, t.helper(helper, t.helperName(helper)))
	}
	seen := map[string]bool{}
	for _, f := range sqlfuncs.All() {
		if f.Effect == sqlfuncs.Native || seen[f.Serves] {
			continue
		}
		seen[f.Serves] = true
		for _, v := range t.variants(f) {
			if name := t.functionName(f, v); name != full {
				out = append(out, t.definition(f, v, name))
			}
		}
	}
	return out
}

// functionName is the name of a function: the first half says what it serves, the second is a hash
// of its definition.
func (t *Texts) functionName(f *sqlfuncs.Func, v variant) string {
	base := FunctionPrefix + f.Serves + v.suffix
	return t.hashedName(base, func() Definition { return t.definition(f, v, base) })
}

// hashedName is the name that begins with base of what define defines.
func (t *Texts) hashedName(base string, define func() Definition) string {
	name, ok := t.hashed.Load(base)
	if !ok {
		hash := md5.Sum([]byte(define().Create))
		name, _ = t.hashed.LoadOrStore(base, base+"_"+hex.EncodeToString(hash[:4]))
	}
	return name.(string)
}

func (t *Texts) definition(f *sqlfuncs.Func, v variant, name string) Definition {
	var types []string
	var params []sqlfuncs.Param
	args, given, values := map[string]string{}, map[string]bool{}, []string{"select 1::bigint"}
	for _, p := range f.Params {
		if slices.Contains(v.without, p.Name) || p.Name == f.Wait {
			continue
		}
		n := "$" + strconv.Itoa(len(types)+1)
		types, params, values = append(types, p.Type.SQL()), append(params, p), append(values, n)
		args[p.Name], given[p.Name] = n, true
	}
	mark := "$" + strconv.Itoa(len(types)+1)
	types = append(types, "pg_catalog.text")

	names := sqlfuncs.Names{
		Call: "mbus4_call", Called: sqlfuncs.QuoteIdent(f.Serves),
		Number: "pg_catalog.split_part(" + mark + ", ' ', 1)::pg_catalog.int4",
		Mark:   "'||" + mark + "||'",
		Arg:    func(param string) string { return args[param] },
	}
	use := sqlfuncs.Use{Given: given, Fixed: given, EitherOrder: v.either, Ordered: v.ordered}
	var body string
	if f.Effect == sqlfuncs.Writes {
		result := names.Call + "." + sqlfuncs.QuoteIdent(f.Serves)
		if f.Set { // spread the row: returned as one column it would be taken for the first column of the result
			result = "(" + result + ").*"
		}
		body = t.whole(f, use, names, params, result, strings.Join(values, ", "))
	} else {
		body = "select " + t.Fragment(f, use, names).Expr
	}

	d := Definition{Name: name}
	d.Signature = sqlfuncs.Schema + "." + d.Name + "(" + strings.Join(types, ", ") + ")"
	d.Create = t.fill("whole/function", map[string]any{
		"Signature": d.Signature, "Returns": f.Result.SQL(), "Set": f.Set, "Body": sqlfuncs.QuoteLiteral(body),
	})
	return d
}

// The functions that the texts of calls themselves use for what few calls need, or what is no
// faster in a client's statement, are kept with these, and named as they are. Each is a file in
// sql/whole.

const (
	postGiven     = "post_given"     // posts a message with headers or an iid
	bury          = "bury"           // posts a message to dmq
	spent         = "spent"          // moves a message to dmq
	retry         = "retry"          // puts a message back
	fail          = "fail"           // gives the message of a lease up
	extend        = "extend"         // makes a lease longer
	redrive       = "redrive"        // puts messages of dmq back
	alterConsumer = "alter_consumer" // sets a consumer's policy
	await         = "await"          // looks for a call that waits
	awaitMessage  = "await_message"  // looks for a call that waits for one message
	postUnique    = "post_once"      // posts a message unless one was posted with its key
	purge         = "purge"          // removes what is stored for consumers
	noConsumer    = "no_consumer"    // fails
	partsOfLease  = "parts_of_lease" // reads a lease's name
)

// postFull stands for the function that serves posts in place; it is no helper, but one calls it.
const postFull = "post_full"

// helpers lists them, each behind those that it calls.
var helpers = []string{noConsumer, partsOfLease, postGiven, bury, spent, retry, fail, extend, redrive, alterConsumer, await, awaitMessage, purge, postFull, postUnique} //nolint:gochecknoglobals // constant

// helperTypes are the parameters of the helpers.
var helperTypes = map[string]string{ //nolint:gochecknoglobals // constant
	postGiven: "call text, queue text, id bigint, added timestamptz, iid text, delayed_until timestamptz, expires timestamptz," +
		" headers " + sqlfuncs.HstoreType + ", properties " + sqlfuncs.HstoreType + ", data " + sqlfuncs.HstoreType + ", consumers bigint[], waits boolean",
	bury:          "call text, message mbus4.qt_model, consumer text, error text",
	spent:         "call text, consumer_id bigint, available_at timestamptz, id bigint, error text",
	retry:         "call text, target mbus4.retry_target, error text, delay interval, cname text",
	fail:          "call text, lease text, error text",
	extend:        "call text, lease text, duration interval",
	redrive:       "call text, qname text, selector text, amt int",
	alterConsumer: "call text, qname text, cname text, max_attempts int, backoff interval, max_backoff interval, jitter float8, lease interval",
	await:         "call text, queue text, consumer text, selector text, wait interval, amt int, lease interval, leases boolean",
	awaitMessage:  "call text, queue text, consumer text, message text, wait interval",
	purge:         "call text, qname text, cname text",
	noConsumer:    "call text, qname text, cname text",
	partsOfLease:  "call text, lease text",
	postUnique: "call text, qname text, data " + sqlfuncs.HstoreType + ", headers " + sqlfuncs.HstoreType + ", properties " + sqlfuncs.HstoreType + ", delayed_until timestamp, expires timestamp, iid text," +
		" unique_key text, unique_for interval",
}

// IsHelper reports whether a function of that name, which begins with FunctionPrefix, is a helper.
func IsHelper(name string) bool {
	base := strings.TrimPrefix(name, FunctionPrefix)
	_, ok := helperTypes[base[:max(0, strings.LastIndexByte(base, '_'))]]
	return ok
}

// helperName is the name of a helper.
func (t *Texts) helperName(helper string) string {
	if helper == postFull {
		f, v := t.full()
		return t.functionName(f, v)
	}
	base := FunctionPrefix + helper
	return t.hashedName(base, func() Definition { return t.helper(helper, base) })
}

// full is the post that gives everything, which postFull stands for.
func (t *Texts) full() (post *sqlfuncs.Func, v variant) {
	post = funcNamed("post")
	return post, t.variant(post, sqlfuncs.Use{Given: map[string]bool{"headers": true}})
}

// helper is a helper's definition, or that of what postFull stands for.
func (t *Texts) helper(helper, name string) Definition {
	if helper == postFull {
		f, v := t.full()
		return t.definition(f, v, name)
	}
	d := Definition{Inline: true, Name: name, Signature: sqlfuncs.Schema + "." + name + "(" + helperTypes[helper] + ")"}
	values := newScope(shape{})
	values["Signature"] = d.Signature
	text := t.fill("whole/"+helper, values)
	d.Create = t.put(strings.Split(text, zero), sqlfuncs.Names{Mark: "'||$1||'"}, "")
	return d
}
