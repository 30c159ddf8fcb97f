package rewrite

import (
	"cmp"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"sort"
	"strconv"
	"strings"
	"testing"

	pg_query "github.com/pganalyze/pg_query_go/v6"

	"mbusproxy/rewrite/lex"
	"mbusproxy/rewrite/parse"
	"mbusproxy/rewrite/place"
	"mbusproxy/rewrite/plan"
	"mbusproxy/rewrite/splice"
	"mbusproxy/sqlfuncs"
)

var update = flag.Bool("update", false, "write the golden files anew")

// shortFragments keeps the goldens readable: the real SQL is package engine's, and integration
// tests run it.
type shortFragments struct{}

func (shortFragments) Shape(f *sqlfuncs.Func, _ sqlfuncs.Use) sqlfuncs.Shape {
	return sqlfuncs.Shape{InOrder: f.Serves == "post"}
}

func (shortFragments) Fragment(f *sqlfuncs.Func, use sqlfuncs.Use, names sqlfuncs.Names) sqlfuncs.Fragment {
	var args []string
	for _, p := range f.Arguments(nil) {
		args = append(args, names.Argument(p.Name))
	}
	if use.InPlace && f.Effect != sqlfuncs.Native {
		if use.Numbered {
			return sqlfuncs.Fragment{Expr: "at_" + f.Serves + "(" + strings.Join(append(args, "'"+names.Mark+"'"), ", ") + ")"}
		}
		return sqlfuncs.Fragment{Expr: "at_" + f.Serves + "(" + strings.Join(append(args, names.Number), ", ") + ")"}
	}
	switch f.Effect {
	case sqlfuncs.Reads:
		if len(args) > 0 {
			args = args[len(args)-1:]
		}
		return sqlfuncs.Fragment{Expr: "(select served_" + f.Serves + "(" + strings.Join(args, "") + ") as " + names.Called + ")"}
	case sqlfuncs.Native:
		if f.Procedure {
			return sqlfuncs.Fragment{Expr: "done_" + f.Serves + "(" + strings.Join(args, ", ") + ")"}
		}
		if f.Prelude {
			return sqlfuncs.Fragment{Expr: "outcome(" + names.Number + ")::" + f.Result.SQL()}
		}
		return sqlfuncs.Fragment{Expr: "native_" + f.Serves + "(" + strings.Join(args, ", ") + ")"}
	case sqlfuncs.Draws:
		return sqlfuncs.Fragment{Expr: "(drawn_for(" + names.Argument("qname") + "))"}
	}
	name := "served"
	if use.Rows {
		name = "served_rows"
	}
	return sqlfuncs.Fragment{CTEs: fmt.Sprintf("%s as (select * from %s)", names.Call, name)}
}

func (shortFragments) ImpliedArgs(m sqlfuncs.Match, _ string) []string {
	var out []string
	for i := range m.Readings[0] {
		var values []string
		for _, r := range m.Readings {
			values = append(values, r[i])
		}
		out = append(out, "'"+strings.Join(values, "|")+"'")
	}
	return out
}

func (shortFragments) Guard(name string, args int, named []string, mark string) string {
	return fmt.Sprintf("ours_still('%s', %d, '{%s}', %s)", name, args, strings.Join(named, ","), strings.TrimSuffix(mark, " "+sqlfuncs.SecretPlace))
}

var utf8Session = plan.Session{Encoding: "UTF8"}

func newRewriter(fragments place.Fragments) *Rewriter { return New(fragments, nil, parse.New()) }

func testEnv() (plan.Env, *plan.Refusal) { return plan.Env{}, nil }

// TestGolden runs the cases in testdata: comment lines, the client's SQL, "----", and the SQL for
// the server, or the error. Cases are separated by an empty line.
func TestGolden(t *testing.T) {
	files, err := filepath.Glob("testdata/*.sql")
	if err != nil || len(files) == 0 {
		t.Fatalf("no golden files: %v", err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".sql"), func(t *testing.T) {
			b, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			var got strings.Builder
			for i, c := range strings.Split(strings.TrimRight(string(b), "\n"), "\n\n") {
				if i > 0 {
					got.WriteString("\n")
				}
				comments, sql := splitComments(c)
				sql, _, _ = strings.Cut(sql, "\n----")
				p := newRewriter(shortFragments{}).Rewrite(t.Context(), sql, utf8Session, testEnv)
				if strings.HasSuffix(file, "unqualified.sql") {
					p = rewriteUnqualified(t.Context(), sql)
				}
				got.WriteString(comments + sql + "\n----\n" + outcome(t, sql, p) + "\n")
			}
			if *update {
				if err := os.WriteFile(file, []byte(got.String()), 0o644); err != nil {
					t.Fatal(err)
				}
				return
			}
			if got.String() != string(b) {
				t.Errorf("%s differs; run: go test ./rewrite -run Golden -update, and look at the difference.\ngot:\n%s", file, got.String())
			}
		})
	}
}

func splitComments(c string) (comments, sql string) {
	for strings.HasPrefix(c, "# ") {
		line, rest, _ := strings.Cut(c, "\n")
		comments += line + "\n"
		c = rest
	}
	return comments, c
}

// outcome is what p makes of sql, in the form of the golden files. It checks what holds for every
// case.
func outcome(t *testing.T, sql string, p *plan.Plan) string {
	t.Helper()
	if p == nil {
		return "(forwarded)"
	}
	checkPlan(t, sql, p)
	if len(p.Refused()) > 0 {
		var lines []string
		for _, r := range p.Refused() {
			line := fmt.Sprintf("error %s at %q: %s", r.Code, upTo(sql[r.Offset:], 12), r.Message)
			if r.Detail != "" {
				line += "\n  detail: " + r.Detail
			}
			lines = append(lines, line+"\n  hint: "+r.Hint)
		}
		return strings.Join(lines, "\n")
	}
	if p.SQL() == sql {
		return "(forwarded, with a plan)"
	}
	return p.SQL() + describe(p)
}

// describe lists what must be known of the calls' arguments.
func describe(p *plan.Plan) string {
	var b strings.Builder
	for _, v := range p.Selectors() {
		fmt.Fprintf(&b, "\n%s %s at %d", cmp.Or(v.Checked, "selector"), show(v), v.Offset)
	}
	for _, s := range p.Preludes() {
		fmt.Fprintf(&b, "\nstep %d: %s", s.Call, s.Name)
		for _, param := range s.Func.Params {
			v := s.Args[param.Name]
			fmt.Fprintf(&b, ", %s %s at %d", param.Name, show(v), v.Offset)
		}
	}
	return b.String()
}

func show(v plan.Value) string {
	switch {
	case v.Null:
		return "null"
	case v.Param > 0:
		return fmt.Sprintf("$%d", v.Param)
	case len(v.Joined) > 0:
		var parts []string
		for _, part := range v.Joined {
			parts = append(parts, show(part))
		}
		return "(" + strings.Join(parts, " || ") + ")"
	case len(v.Expression) > 0:
		text := "evaluated "
		for _, piece := range v.Expression {
			if text += strconv.Quote(piece.SQL); piece.Param > 0 {
				text += fmt.Sprintf(" $%d ", piece.Param)
			}
		}
		return text
	}
	return strconv.Quote(v.Text)
}

func upTo(s string, n int) string { return s[:min(n, len(s))] }

// checkPlan checks that the result parses, with its prelude statements, too, that rewriting it again changes
// nothing, and that every copied piece is found where the plan says it came from.
func checkPlan(t *testing.T, sql string, p *plan.Plan) {
	t.Helper()
	if _, err := pg_query.Parse(lex.EncodingOf("UTF8").Parseable(p.SQL())); err != nil {
		t.Errorf("the result of %q does not parse: %v\n%s", sql, err, p.SQL())
	}
	if again := newRewriter(shortFragments{}).Rewrite(t.Context(), p.SQL(), utf8Session, testEnv); again != nil && again.SQL() != p.SQL() {
		t.Errorf("rewriting the result of %q again gives\n%s", sql, again.SQL())
	}
	checkWithPreludes(t, p)
	checkSegments(t, sql, p)
}

// checkSegments checks that every piece of the plan's text is where the plan says it came from.
func checkSegments(t *testing.T, sql string, p *plan.Plan) {
	t.Helper()
	server := p.SQL()
	if sent := string(p.Text().AppendTransferred(nil, sql, lex.Mover{}, splice.BlankSecret, "")); sent != server {
		t.Fatalf("if it were long, for %q would be sent:\n%s\nthe plan has:\n%s", sql, sent, server)
	}
	for off := range len(server) {
		in, copied := p.Text().Origin(off)
		if in < 0 || in > len(sql) {
			t.Fatalf("byte %d for %q is outside the client's text: %d", off, sql, in)
		}
		if copied && (in == len(sql) || sql[in] != server[off]) {
			t.Fatalf("byte %d for %q is not the one it claims to copy: %q", off, sql, server[off:])
		}
	}
}

// callsOf returns how many calls the plan serves: as many as its markers can name.
func callsOf(p *plan.Plan) int {
	return sort.Search(1<<20, func(i int) bool {
		r := plan.Report{Code: "22P02", Message: fmt.Sprintf("\"mbus4-error %d _session_secret_ XX000 x\"", i+1)}
		p.EditReport(&r)
		return r.Position == 0
	})
}
