package rewrite

import (
	"reflect"
	"slices"
	"strings"
	"testing"

	pg_query "github.com/pganalyze/pg_query_go/v6"

	"mbusproxy/rewrite/lex"
	"mbusproxy/rewrite/plan"
	"mbusproxy/sqlfuncs"
)

// preludeTexts are the prelude statements of a call.
var preludeTexts = []string{"select 'own prelude' -- one\n", " do 'own prelude; 2'"}

// checkWithPreludes checks that the text with its prelude statements parses, and that these are the
// hidden ones. That of a procedure is seen, for it stands for its statement.
func checkWithPreludes(t *testing.T, p *plan.Plan) {
	t.Helper()
	hidden := 0
	texts := make([][]string, len(p.Preludes()))
	for i, s := range p.Preludes() {
		if texts[i] = preludeTexts; s.Func.Procedure {
			texts[i] = []string{"do 'of a procedure'"}
			continue
		}
		hidden += 2
	}
	q := p.WithPreludes(texts)
	tree, err := pg_query.Parse(lex.UTF8.Parseable(q.SQL()))
	if err != nil {
		t.Errorf("with preludes, %q does not parse: %v\n%s", p.ClientText(), err, q.SQL())
		return
	}
	var want []int
	for i, raw := range tree.Stmts {
		text := q.SQL()[raw.StmtLocation:]
		if raw.StmtLen > 0 {
			text = text[:raw.StmtLen]
		}
		if strings.Contains(text, "own prelude") {
			want = append(want, i)
		}
	}
	if !slices.Equal(q.HiddenTags(), want) || len(want) != hidden {
		t.Errorf("hidden are %v of %s, want %v", q.HiddenTags(), q.SQL(), want)
	}
	if got, want := q.Tag() != "", len(tree.Stmts) == 1 && p.EndsTransaction(); got != want {
		t.Errorf("the tag of %s is %q", q.SQL(), q.Tag())
	}
	checkSegments(t, p.ClientText(), q)
}

func TestWithPreludes(t *testing.T) {
	r := newRewriter(shortFragments{})
	for _, name := range []string{"x", "another"} { // the second one's plan is the first's, moved
		sql := ";; begin ;\n/* é */ select mbus4.run_on_q('" + name + "'), wrong;; select mbus4.run_q('1'), mbus4.run_q('2') -- end\n;;"
		p := r.Rewrite(t.Context(), sql, utf8Session, testEnv)
		q := p.WithPreludes([][]string{{"do 'a'"}, nil, {"do 'b;'", "do 'c'"}})
		want := ";; begin ;\n/* é */ do 'a'; select outcome(1)::integer as \"run_on_q\", wrong;; do 'b;'; do 'c'; select outcome(2)::integer as \"run_q\", outcome(3)::integer as \"run_q\" -- end\n;;"
		if q.SQL() != want {
			t.Fatalf("gives\n%s\nwant\n%s", q.SQL(), want)
		}
		if want := []int{1, 3, 4}; !slices.Equal(q.HiddenTags(), want) || p.HiddenTags() != nil {
			t.Errorf("hidden are %v, want %v", q.HiddenTags(), want)
		}
		if q.BindTime() || len(q.Preludes()) > 0 || len(p.Preludes()) != 3 {
			t.Errorf("preludes are left: %v", q.Preludes())
		}
		for done, in := range []string{"", "mbus4.run_on_q", "", "mbus4.run_q('2'", "mbus4.run_q('2'", ""} { // those that are not hidden are the client's
			rep := &plan.Report{Code: "42P07", Where: "ours", Done: done}
			if edited := q.EditReport(rep); edited != (in != "") || edited && (rep.Where != "" || rep.Position != len([]rune(sql[:strings.Index(sql, in)]))+1) {
				t.Errorf("an error without a place in statement %d gives %+v", done, rep)
			}
		}
		for in, out := range map[string]string{"wrong": "wrong", "mbus4.run_on_q": "do 'a'", "mbus4.run_q('2'": "'b;'"} {
			rep := &plan.Report{Code: "42703", Position: len([]rune(q.SQL()[:strings.Index(q.SQL(), out)])) + 1}
			if q.EditReport(rep); rep.Position != len([]rune(sql[:strings.Index(sql, in)]))+1 {
				t.Errorf("a report at %s points at %d", out, rep.Position)
			}
		}
		rep := &plan.Report{Code: "22P02", Message: `invalid input syntax for type integer: "mbus4-error 3 _session_secret_ 42704 no queue"`}
		if !q.EditReport(rep) || rep.Code != "42704" || rep.Position != len([]rune(sql[:strings.Index(sql, "mbus4.run_q('2'")]))+1 {
			t.Errorf("a marker gives %+v", rep)
		}
	}
}

func TestPreludePlan(t *testing.T) {
	const sql = "select 'é', mbus4.run_on_q($1), mbus4.run_on_r($2)"
	p := newRewriter(shortFragments{}).Rewrite(t.Context(), sql, utf8Session, testEnv)
	preludes := p.Preludes()
	if got, want := preludes[1].Args, (map[string]plan.Value{"qname": {Text: "r", Offset: 33}, "exec": {Param: 2, Offset: 48}}); !reflect.DeepEqual(got, want) {
		t.Errorf("arguments are %+v, want %+v", got, want)
	}
	q := plan.PreludePlan(p, preludes[1].Call, "do 'x'", nil)
	if q.SQL() != "do 'x'" || q.BindTime() || q.HiddenTags() != nil {
		t.Errorf("gives %+v", q)
	}
	rep := &plan.Report{Code: "22P02", Message: `invalid input syntax for type integer: "mbus4-error 2 _session_secret_ 42704 no queue"`, Position: 3}
	if !q.EditReport(rep) || rep.Code != "42704" || rep.Position != 33 {
		t.Errorf("a marker gives %+v", rep)
	}
	rep = &plan.Report{Code: "42601", Message: "syntax error", Position: 3}
	if !q.EditReport(rep) || rep.Position != 33 || rep.Message != "syntax error" {
		t.Errorf("another error gives %+v", rep)
	}
	if rep = (&plan.Report{Code: "42601", Message: "syntax error", Where: "ours"}); !q.EditReport(rep) || rep.Position != 33 || rep.Where != "" {
		t.Errorf("an error without position gives %+v", rep)
	}
}

// recorder keeps what it is asked for.
type recorder struct {
	shortFragments
	uses []sqlfuncs.Use
}

func (r *recorder) Fragment(f *sqlfuncs.Func, use sqlfuncs.Use, names sqlfuncs.Names) sqlfuncs.Fragment {
	r.uses = append(r.uses, use)
	return r.shortFragments.Fragment(f, use, names)
}

// TestOrdered checks that what the engine knows of the database reaches its fragments.
func TestOrdered(t *testing.T) {
	for _, ordered := range []bool{false, true} {
		rec := &recorder{}
		newRewriter(rec).Rewrite(t.Context(), "select mbus4.post('q', '')", utf8Session, func() (plan.Env, *plan.Refusal) {
			return plan.Env{Ordered: ordered}, nil
		})
		if len(rec.uses) == 0 || rec.uses[0].Ordered != ordered {
			t.Errorf("fragments are asked with %+v", rec.uses)
		}
	}
}
