package calls

import (
	_ "embed"
	"fmt"
	"strings"
	"text/template"

	"mbusproxy/sqlfuncs"
)

//go:embed readme.txt
var readme string

// Texts holds the SQL that serves each function of the catalogue. It is immutable and safe for
// concurrent use.
type Texts struct {
	templates *template.Template
	readme    string
	onlyOne   map[string]bool // by Func.Serves: Shape.OneCall
	wakes     map[string]bool // by Func.Serves: its text differs with Use.Ordered
}

// New returns the SQL of all calls. It panics when a file is missing from the program, which
// is a broken build.
func New() *Texts {
	t := &Texts{
		templates: parseTemplates(), readme: sqlfuncs.QuoteLiteral(readme) + "::pg_catalog.text",
		onlyOne: map[string]bool{}, wakes: map[string]bool{},
	}
	for _, f := range sqlfuncs.All() {
		plain := newScope(f, sqlfuncs.Use{Rows: true, Numbered: true}, sqlfuncs.Names{})
		plain.onlyOne = new(bool)
		text := t.serve(f, plain)
		t.onlyOne[f.Serves] = *plain.onlyOne
		t.wakes[f.Serves] = text != t.serve(f, newScope(f, sqlfuncs.Use{Rows: true, Numbered: true, Ordered: true}, sqlfuncs.Names{}))
	}
	return t
}

// Shape says what the SQL of such a call is like.
func (t *Texts) Shape(f *sqlfuncs.Func, use sqlfuncs.Use) sqlfuncs.Shape {
	return sqlfuncs.Shape{OneCall: use.Numbered && t.onlyOne[f.Serves], InOrder: templateOf(f, use) == "post"}
}

// Fragment returns the SQL of one call, or of several with use.Numbered.
func (t *Texts) Fragment(f *sqlfuncs.Func, use sqlfuncs.Use, names sqlfuncs.Names) sqlfuncs.Fragment {
	if use.InPlace && f.Effect != sqlfuncs.Native {
		return sqlfuncs.Fragment{Expr: t.functionCall(f, use, names)}
	}
	text := t.serve(f, newScope(f, use, names))
	if f.Effect != sqlfuncs.Writes {
		return sqlfuncs.Fragment{Expr: text}
	}
	return sqlfuncs.Fragment{CTEs: text}
}

func (t *Texts) serve(f *sqlfuncs.Func, s *scope) string {
	if f.Serves == "readme" {
		return t.readme
	}
	return t.fill(templateOf(f, s.use), s)
}

// templateOf names the template that serves a call.
func templateOf(f *sqlfuncs.Func, use sqlfuncs.Use) string {
	switch f.Serves {
	case "post":
		if use.Given["iid"] || use.Given["headers"] {
			return "post_full"
		}
	case "consume", "consumen", "dyn_consume":
		name := "consume"
		if use.Given["selector"] && use.Condition == "" {
			name = "dyn_consume"
		}
		if use.Rows {
			name += "_rows"
		}
		return name
	}
	return f.Serves
}

// funcNamed is a function of the catalogue, which it must be.
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
func ownNames(mark, hstoreSchema string) sqlfuncs.Names {
	return sqlfuncs.Names{Call: "mbus4_call", Number: "0", Mark: mark, Hstore: hstoreSchema}
}

// argColumns names the columns of mbus4_call_args.
func argColumns(params []sqlfuncs.Param) string {
	names := []string{"n"}
	for _, p := range params {
		names = append(names, sqlfuncs.QuoteIdent(p.Name))
	}
	return strings.Join(names, ", ")
}

// Statement returns a statement of the engine's own that makes one call with the arguments $1, $2, …: a query for columns of
// mbus4_call. hstoreSchema is needed for functions that deal with messages.
func (t *Texts) Statement(function, columns, hstoreSchema string) string {
	f := funcNamed(function)
	args := []string{"select 1::bigint"}
	for i, p := range f.Params {
		args = append(args, fmt.Sprintf("$%d::%s", i+1, p.Type.SQL(hstoreSchema)))
	}
	return t.whole(f, sqlfuncs.Use{}, ownNames(storedMark, hstoreSchema), f.Params, columns, strings.Join(args, ", "))
}

// Posting returns the WITH queries of a statement of the engine's own that posts, with one call for each row of
// mbus4_call_args, and the columns of that WITH query, which is the statement's own to write before them.
func (t *Texts) Posting(site Site) (columns, ctes string) {
	f := funcNamed("post")
	use := sqlfuncs.Use{Rows: true, Ordered: site.Ordered, Selective: site.Selective}
	return argColumns(f.Params), t.Fragment(f, use, ownNames(storedMark, site.HstoreSchema)).CTEs
}

// whole is a whole statement around a call: a query for columns of names.Call. args selects the arguments, n first.
func (t *Texts) whole(f *sqlfuncs.Func, use sqlfuncs.Use, names sqlfuncs.Names, params []sqlfuncs.Param, columns, args string) string {
	return t.fill("whole/statement", map[string]string{
		"Call": names.Call, "Columns": argColumns(params), "Args": args, "Queries": t.Fragment(f, use, names).CTEs, "Result": columns,
	})
}
