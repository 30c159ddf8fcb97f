package calls

import (
	"embed"
	"fmt"
	"regexp"
	"strings"
	"text/template"

	"mbusproxy/sqlfuncs"
)

//go:embed sql/*.sql sql/macro/*.sql sql/name/*.sql
var sqlFiles embed.FS

//go:embed readme.txt
var readme string

// Texts holds the SQL that serves each function of the catalogue. It is immutable and safe for
// concurrent use.
type Texts struct {
	texts    map[string]string // by file name without extension
	preludes *template.Template
	ours     string // sql/name
	guard    string
}

// comment matches a line that is nothing but a comment. It is for readers of the file and is not sent to the server.
var comment = regexp.MustCompile(`(?m)^\s*--.*\n`)

// New returns the SQL of all calls. It panics when a file is missing from the program, which
// is a broken build.
func New() *Texts {
	macros, texts, names := readTexts("sql/macro"), readTexts("sql"), readTexts("sql/name")
	t := &Texts{texts: map[string]string{}, preludes: preludeTemplates(), ours: names["ours"], guard: names["guard"]}
	for name, text := range texts {
		t.texts[name] = expandMacros(text, macros)
	}
	t.texts["readme"] = sqlfuncs.QuoteLiteral(readme) + "::pg_catalog.text"
	return t
}

// readTexts returns the SQL files of a folder, by name without extension, each as one line.
func readTexts(folder string) map[string]string {
	entries, err := sqlFiles.ReadDir(folder)
	if err != nil {
		panic(fmt.Sprintf("reading embedded SQL: %v", err))
	}
	texts := make(map[string]string, len(entries))
	for _, e := range entries {
		if e.IsDir() {
			continue
		}
		b, err := sqlFiles.ReadFile(folder + "/" + e.Name())
		if err != nil {
			panic(fmt.Sprintf("reading embedded SQL: %v", err))
		}
		text := comment.ReplaceAllString(string(b), "")
		texts[strings.TrimSuffix(e.Name(), ".sql")] = strings.Join(strings.Fields(text), " ")
	}
	return texts
}

// marked matches {k.a}: within a literal, the mark of the call that the row a belongs to.
var marked = regexp.MustCompile(`\{k\.(\w+)\}`)

// Fragment returns the SQL of one call, or of several with use.Numbered.
func (t *Texts) Fragment(f *sqlfuncs.Func, use sqlfuncs.Use) sqlfuncs.Fragment {
	fragment := t.fragment(f, use)
	mark := "{k}"
	if use.Numbered {
		fragment.OneCall = strings.Contains(fragment.CTEs, "{k}")
		mark = "'||$1.n||' {secret}"
	}
	fragment.CTEs = marked.ReplaceAllString(fragment.CTEs, mark)
	return fragment
}

func (t *Texts) fragment(f *sqlfuncs.Func, use sqlfuncs.Use) sqlfuncs.Fragment {
	if use.InPlace && f.Effect != sqlfuncs.Native {
		return sqlfuncs.Fragment{Expr: t.functionCall(f, use)}
	}
	name := f.Serves
	switch name {
	case "post":
		if use.Given["iid"] || use.Given["headers"] {
			name = "post_full"
		}
	case "consume", "consumen", "dyn_consume":
		switch dynamic := use.Given["selector"] && !use.Condition; {
		case dynamic && use.Rows:
			name = "dyn_consume_rows"
		case dynamic:
			name = "dyn_consume"
		case use.Rows:
			name = "consume_rows"
		default:
			name = "consume"
		}
	}
	texts := t.texts
	text, ok := texts[name]
	if !ok {
		panic("no SQL for function " + f.Name)
	}
	if f.Effect != sqlfuncs.Writes {
		return sqlfuncs.Fragment{Expr: text}
	}
	amount := "1"
	if f.Serves == "consumen" {
		amount = "greatest(a.amt, 0)"
	}
	wake := "" // planning it costs as much as the rest; without it the Releaser does the waking
	if use.Ordered {
		wake = texts["wake"]
	}
	expired, after := "", ""
	if use.Given["iid"] {
		expired, after = texts["post_expired"], "and (select pg_catalog.count(*) from {c}_x) >= 0"
	}
	also := ""
	switch {
	case use.Condition && use.Rows:
		also = texts["condition_rows"]
	case use.Condition:
		also = texts["condition"]
	}
	subscribers, join, queue := "", texts["subscribers_of_one"], "a.qname"
	once := ""
	switch {
	case use.Rows && use.Fixed["qname"]:
		queue, once = "{qname}", "select "
	case use.Rows:
		subscribers, join = texts["subscribers_of_many"], "left join lateral (select * from {c}_r r where r.queue = pg_catalog.lower(a.qname) offset 0) r on true"
	}
	join = strings.ReplaceAll(join, "{queue}", queue)
	subscribed := texts["subscribed"]
	if use.Selective {
		subscribed = texts["subscribed_selective"]
	}
	text = strings.NewReplacer("{amt}", amount, "{result}", f.Serves, "{wake}", wake, "{also}", also, "{expired}", expired, "{after_expired}", after,
		"{subscribers}", subscribers, "{join_subscribers}", join, "{subscribed}", subscribed,
		"{prefix}", "("+once+"pg_catalog.lower("+queue+") || '.' || pg_catalog.current_database() || '.')").Replace(text)
	return sqlfuncs.Fragment{CTEs: text, InOrder: name == "post"}
}

// funcNamed finds a function of the catalogue. It panics where there is none, which is a broken build.
func funcNamed(name string) *sqlfuncs.Func {
	match, ok := sqlfuncs.Lookup(name)
	if !ok {
		panic("no function " + name)
	}
	return match.Func
}

// The engine's own statements hold at most one call, whose WITH queries are mbus4_c_a and mbus4_c.

// argColumns names the columns of mbus4_c_a.
func argColumns(f *sqlfuncs.Func) string {
	names := []string{"n"}
	for _, p := range f.Params {
		names = append(names, sqlfuncs.QuoteIdent(p.Name))
	}
	return strings.Join(names, ", ")
}

// Statement returns a statement of the engine's own that makes one call with the arguments $1, $2, …: a query for columns of
// mbus4_c. hstoreSchema is needed for functions that deal with messages.
func (t *Texts) Statement(function, columns, hstoreSchema string) string {
	f := funcNamed(function)
	args := []string{"select 1::bigint"}
	for i, p := range f.Params {
		args = append(args, fmt.Sprintf("$%d::%s", i+1, p.Type.SQL(hstoreSchema)))
	}
	return t.ownStatement(f, sqlfuncs.Use{}, storedMark, hstoreSchema, columns, strings.Join(args, ", "))
}

// Posting returns the WITH queries of a statement of the engine's own that posts, with one call for each row of mbus4_c_a, and
// the columns of that WITH query, which is the statement's own to write before them.
func (t *Texts) Posting(site Site) (columns, ctes string) {
	f := funcNamed("post")
	use := sqlfuncs.Use{Rows: true, Ordered: site.Ordered, Selective: site.Selective}
	return argColumns(f), t.ownCTEs(f, use, storedMark, site.HstoreSchema)
}

// ownCTEs are the WITH queries of a call from mbus4_c_a on. mark goes into the markers of its errors: the
// call's number and, where there is a session, its secret.
func (t *Texts) ownCTEs(f *sqlfuncs.Func, use sqlfuncs.Use, mark, hstoreSchema string) string {
	return strings.NewReplacer("{c}", "mbus4_c", "{k}", mark, "{hstore}", hstoreSchema).Replace(t.Fragment(f, use).CTEs)
}

// ownStatement is a whole statement around a call: a query for columns of mbus4_c. args selects the arguments,
// n first.
func (t *Texts) ownStatement(f *sqlfuncs.Func, use sqlfuncs.Use, mark, hstoreSchema, columns, args string) string {
	return fmt.Sprintf("with mbus4_c_a (%s) as (%s), %s select %s from mbus4_c",
		argColumns(f), args, t.ownCTEs(f, use, mark, hstoreSchema), columns)
}

// ImpliedArgs returns SQL for what the name of a call gives: the queue, and for some the consumer.
// A name that can be split in several ways is decided by which queue and consumer exist.
func (t *Texts) ImpliedArgs(m sqlfuncs.Match) []string {
	if len(m.Readings) == 0 {
		return nil
	}
	out := make([]string, len(m.Readings[0]))
	if len(m.Readings) == 1 {
		for i, name := range m.Readings[0] {
			out[i] = sqlfuncs.QuoteLiteral(name)
		}
		return out
	}
	var pairs, described []string
	for _, r := range m.Readings {
		pairs = append(pairs, fmt.Sprintf("(%s, %s)", sqlfuncs.QuoteLiteral(r[0]), sqlfuncs.QuoteLiteral(r[1])))
		described = append(described, fmt.Sprintf(`queue "%s" with consumer "%s"`, r[0], r[1]))
	}
	ambiguous := fmt.Sprintf("mbus4-error {k} 42725 mbus4.%s is ambiguous: %s", m.Name, strings.Join(described, " or "))
	for i, column := range []string{"queue", "name"} {
		out[i] = fmt.Sprintf("select case pg_catalog.count(*) when 0 then %s when 1 then pg_catalog.min(c.%s) else (%s || pg_catalog.left(pg_catalog.min(c.queue), 0))::int::text end "+
			"from mbus4.consumer c where (c.queue, c.name) in (%s)",
			sqlfuncs.QuoteLiteral(m.Readings[0][i]), column, sqlfuncs.QuoteLiteral(ambiguous), strings.Join(pairs, ", "))
	}
	return out
}
