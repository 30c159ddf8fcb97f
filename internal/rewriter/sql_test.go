package rewriter

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"mbusproxy/engine/calls"
	"mbusproxy/internal/layout"
	"mbusproxy/rewrite"
	"mbusproxy/rewrite/detect"
	"mbusproxy/rewrite/lex"
	"mbusproxy/rewrite/parse"
	"mbusproxy/rewrite/plan"
)

var update = flag.Bool("update", false, "write the golden files anew")

// shownSecret stands for the session's secret.
const shownSecret = "_session_secret_"

// TestGoldenSQL shows the SQL that the server gets for statements of clients, laid out for reading:
// testdata/sql. A case is comment lines, the client's statement, "----", and what the server gets.
// Comments may say what there is in the database ("messages wait", "selectors") and that the client
// names no schema ("without the schema").
func TestGoldenSQL(t *testing.T) {
	t.Parallel()
	paths, err := filepath.Glob("testdata/sql/*.sql")
	if err != nil || len(paths) == 0 {
		t.Fatalf("no golden files: %v", err)
	}
	for _, path := range paths {
		b, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		var got strings.Builder
		for i, c := range strings.Split(strings.TrimRight(string(b), "\n"), "\n\n") {
			if i > 0 {
				got.WriteString("\n")
			}
			client, _, _ := strings.Cut(c, "\n----")
			got.WriteString(client + "\n----" + serverGets(t, client) + "\n")
		}
		if *update {
			if err := os.WriteFile(path, []byte(got.String()), 0o644); err != nil {
				t.Fatal(err)
			}
			continue
		}
		if got.String() != string(b) {
			t.Errorf("%s differs; run: go test ./internal/rewriter -run Golden -update, and look at the difference", path)
		}
	}
}

var remark = regexp.MustCompile(`(?m)^# .*\n`)

// serverGets is what becomes of a statement, in a Query and prepared.
func serverGets(t *testing.T, client string) string {
	t.Helper()
	remarks, sql := strings.Join(remark.FindAllString(client, -1), ""), remark.ReplaceAllString(client, "")
	g := &shown{t: t, texts: calls.New(), site: calls.Site{Ordered: strings.Contains(remarks, "messages wait")}}
	var unqualified *detect.Unqualified
	if strings.Contains(remarks, "without the schema") {
		var err error
		if unqualified, err = detect.NewUnqualified([]string{"all"}); err != nil {
			t.Fatal(err)
		}
	}
	g.rewriter = rewrite.New(g.texts, unqualified, parse.New())
	simple, prepared := g.statement(sql, false), g.statement(sql, true)
	if simple == prepared {
		return simple
	}
	return " unprepared" + simple + "\n---- prepared" + prepared
}

type shown struct {
	t        *testing.T
	texts    *calls.Texts
	site     calls.Site
	rewriter *rewrite.Rewriter
}

func (g *shown) env() (plan.Env, *plan.Refusal) {
	return plan.Env{Ordered: g.site.Ordered}, nil
}

func (g *shown) statement(sql string, prepared bool) string {
	session := plan.Session{Encoding: "UTF8", Prepared: prepared}
	var out strings.Builder
	if candidates := g.rewriter.Candidates(g.t.Context(), sql, session); len(candidates) > 0 {
		var asked []calls.Unqualified
		for _, c := range candidates {
			asked = append(asked, calls.Unqualified(c))
		}
		out.WriteString("\n-- first, the session is asked:\n" + g.laidOut(g.texts.ProbeQuery(asked)) + ";\n-- then:")
		session.Answer = strings.Repeat("1", len(candidates))
	}
	p := g.rewriter.Rewrite(g.t.Context(), sql, session, g.env)
	switch {
	case p == nil:
		return out.String() + "\n-- the same"
	case len(p.Refused()) > 0:
		r := p.Refused()[0]
		return out.String() + "\n" + g.laidOut(p.SQL()) + fmt.Sprintf("\n-- of which the proxy makes for the client:\n-- ERROR %s: %s\n-- %s", r.Code, r.Message, r.Hint)
	}
	var made [][]string
	for _, s := range p.Preludes() {
		made = append(made, g.step(s))
	}
	if len(made) > 0 && !prepared {
		p = p.WithPreludes(made)
	} else if len(made) > 0 {
		out.WriteString("\n-- whenever it is bound:")
		for _, statement := range slices.Concat(made...) {
			out.WriteString("\n" + g.laidOut(statement) + ";")
		}
		out.WriteString("\n-- when it is parsed:")
	}
	out.WriteString("\n" + g.laidOut(p.SQL()))
	for _, f := range g.texts.Definitions() {
		if strings.Contains(p.SQL(), "mbus4."+f.Name+"(") {
			out.WriteString(";\n-- where there is in the database:\n" + g.laidOut(f.Create))
		}
	}
	return out.String()
}

func (g *shown) step(s plan.Prelude) []string {
	args, expressions := map[string]*string{}, map[string]string{}
	for name, v := range s.Args {
		if len(v.Expression) > 0 {
			expressions[name] = v.Expression[0].SQL
		} else if !v.Null {
			args[name] = &v.Text
		}
	}
	made, err := g.texts.Preludes(g.site, calls.PreludeCall{
		Func: s.Func, Name: s.Name, Args: args, Expressions: expressions, Number: s.Call, Secret: shownSecret, Guard: s.Guard,
		Rewrite: func(text string) (string, error) {
			if p := g.rewriter.Rewrite(g.t.Context(), text, plan.Session{Encoding: "UTF8"}, g.env); p != nil {
				text = p.SQL()
			}
			return text, nil
		},
	})
	if err != nil {
		g.t.Fatal(err)
	}
	return made
}

// laidOut lays a text out, and checks that it is the same still and what holds for every text.
func (g *shown) laidOut(sql string) string {
	g.t.Helper()
	out, ok := layout.SQL(sql)
	if !ok {
		g.t.Fatalf("cannot be laid out:\n%s", sql)
	}
	if strings.Contains(out, "\n\n") {
		g.t.Fatalf("an empty line in\n%s", out)
	}
	l := lex.Lexer{Text: sql}
	for k := l.Next(); k.Kind != lex.End; k = l.Next() {
		if k.Kind == lex.Word && k.End-k.Start > 63 {
			g.t.Errorf("the server cuts the name %s", sql[k.Start:k.End])
		}
	}
	return out
}
