package calls

import (
	_ "embed"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"text/template"

	"mbusproxy/sqlfuncs"
)

//go:embed readme.txt
var readme string

// Texts holds the SQL that serves each function of the catalogue. It is safe for concurrent use.
type Texts struct {
	templates *template.Template
	filled    sync.Map     // pieces by shape; a few MiB at most
	narrow    atomic.Int64 // how many of them are, or were to be, for some columns only
	hashed    sync.Map     // names of functions, by their first halves
}

// New returns the SQL of all calls. It panics when a file is missing from the program, which
// is a broken build.
func New() *Texts {
	return &Texts{templates: parsed()}
}

// Shape says what the SQL of such a call is like.
func (t *Texts) Shape(f *sqlfuncs.Func, use sqlfuncs.Use) sqlfuncs.Shape {
	s := t.shapeOf(f, use)
	return sqlfuncs.Shape{OneCall: use.Numbered && t.pieces(s).has(markPlace), InOrder: s.template == "post" || s.template == "ack"}
}

// wakes reports whether the SQL of a function's calls wakes messages that wait for others.
func (t *Texts) wakes(f *sqlfuncs.Func) bool {
	return !slices.Equal(t.pieces(t.shapeOf(f, sqlfuncs.Use{})), t.pieces(t.shapeOf(f, sqlfuncs.Use{Ordered: true})))
}

// Fragment returns the SQL of one call, or of several with use.Numbered.
func (t *Texts) Fragment(f *sqlfuncs.Func, use sqlfuncs.Use, names sqlfuncs.Names) sqlfuncs.Fragment {
	if use.InPlace && f.Effect != sqlfuncs.Native {
		return sqlfuncs.Fragment{Expr: t.functionCall(f, use, names)}
	}
	text := t.put(t.pieces(t.shapeOf(f, use)), names, use.Condition)
	if f.Effect != sqlfuncs.Writes {
		return sqlfuncs.Fragment{Expr: text}
	}
	return sqlfuncs.Fragment{CTEs: text}
}

// funcNamed finds a function of the catalogue. It panics where there is none, which is a broken build.
func funcNamed(name string) *sqlfuncs.Func {
	match, ok := sqlfuncs.Lookup(name)
	if !ok {
		panic("no function " + name)
	}
	return match.Func
}

// The engine's own statements hold at most one call, whose WITH queries are mbus4_call_args and mbus4_call.

// ownNames are the names in such a statement. mark goes into the markers of its errors: the call's number and,
// where there is a session, its secret.
func ownNames(mark string) sqlfuncs.Names {
	return sqlfuncs.Names{Call: "mbus4_call", Number: "0", Mark: mark}
}

// argColumns names the columns of mbus4_call_args.
func argColumns(params []sqlfuncs.Param) string {
	names := []string{"n"}
	for _, p := range params {
		names = append(names, sqlfuncs.QuoteIdent(p.Name))
	}
	return strings.Join(names, ", ")
}

// Statement returns a statement of the engine's own that makes one call with the arguments $1, $2,
// …: a query for columns of mbus4_call.
func (t *Texts) Statement(function, columns string) string {
	f := funcNamed(function)
	params := f.Arguments(nil)
	args := []string{"select 1::bigint"}
	for i, p := range params {
		args = append(args, fmt.Sprintf("$%d::%s", i+1, p.Type.SQL()))
	}
	return t.whole(f, sqlfuncs.Use{}, ownNames(storedMark), params, columns, strings.Join(args, ", "))
}

// ScheduledPost returns a statement of the engine's own that posts what the schedule named $1 is
// for, with its tick $2 in the headers, and gives the iid.
func (t *Texts) ScheduledPost(site Site) string {
	return t.statement(site, "post", "mbus4_call.post", storedMark, t.fill("whole/scheduled", newScope(shape{})))
}

// OwnError tells what an error of the server's is where a statement of the engine's own raised it:
// its SQLSTATE and message.
func OwnError(message string) (code, text string, ok bool) {
	m := ownMarker.FindStringSubmatch(message)
	if m == nil {
		return "", "", false
	}
	return m[1], m[2], true
}

var ownMarker = regexp.MustCompile(`"mbus4-error ` + storedMark + ` ([0-9A-Z]{5}) (.*)"$`)

// Posting returns the WITH queries of a statement of the engine's own that posts to a queue, with
// one call for each row of mbus4_call_args, and the columns of that WITH query, which is the
// statement's own to write before them.
func (t *Texts) Posting(site Site, queue string) (columns, ctes string) {
	f := funcNamed("post")
	use := sqlfuncs.Use{Rows: true, Ordered: site.Ordered, Fixed: map[string]bool{"qname": true}}
	names := ownNames(storedMark)
	names.Arg = func(string) string { return sqlfuncs.QuoteLiteral(queue) + "::pg_catalog.text" }
	return argColumns(f.Arguments(nil)), t.Fragment(f, use, names).CTEs
}

// whole is a whole statement around a call: a query for columns of the Call that names holds. args
// selects the arguments, n first.
func (t *Texts) whole(f *sqlfuncs.Func, use sqlfuncs.Use, names sqlfuncs.Names, params []sqlfuncs.Param, columns, args string) string {
	return t.fill("whole/statement", map[string]string{
		"Call": names.Call, "Columns": argColumns(params), "Args": args, "Queries": t.Fragment(f, use, names).CTEs, "Result": columns,
	})
}
