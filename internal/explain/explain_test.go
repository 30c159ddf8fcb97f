package explain

import (
	"context"
	"errors"
	"flag"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"

	"mbusproxy/engine"
	"mbusproxy/internal/layout"
	"mbusproxy/internal/pgcluster"
	"mbusproxy/internal/rewriter"
	"mbusproxy/internal/told"
	"mbusproxy/proxy/statements"
	"mbusproxy/proxy/wire"
	"mbusproxy/rewrite/lex"
	"mbusproxy/rewrite/parse"
	"mbusproxy/rewrite/splice"
	"mbusproxy/sqlfuncs"
)

var update = flag.Bool("update", false, "write the golden files anew")

// remark is a comment line of a golden file.
var remark = regexp.MustCompile(`(?m)^# .*\n`)

// clusterOfOwn starts a cluster that ends with the test.
func clusterOfOwn(t *testing.T) *pgcluster.Cluster {
	t.Helper()
	cluster, err := pgcluster.Temp(pgcluster.Config{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := cluster.Stop(context.Background()); err != nil {
			t.Error(err)
		}
	})
	return cluster
}

// explanation is what Run writes, with its error behind it.
func explanation(t *testing.T, cfg Config) string {
	t.Helper()
	var out strings.Builder
	cfg.Out = &out
	err := Run(t.Context(), cfg)
	if err == nil {
		return out.String()
	}
	var e *told.Error
	if !errors.As(err, &e) {
		t.Fatalf("%q: %v is not fit for people", cfg.Text, err)
	}
	return out.String() + "ends with 1: " + e.Message + "\n"
}

// TestGoldenExplain shows what the command prints: testdata. A file is comment lines, a text of a
// client, "----", and the explanation. Comments may say that the text is prepared and that it names
// no schema.
func TestGoldenExplain(t *testing.T) {
	t.Parallel()
	paths, err := filepath.Glob("testdata/*.sql")
	if err != nil || len(paths) == 0 {
		t.Fatalf("no golden files: %v", err)
	}
	for _, path := range paths {
		b, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		given, _, _ := strings.Cut(string(b), "\n----\n")
		cfg := Config{Text: remark.ReplaceAllString(given, ""), Prepared: strings.Contains(given, "# prepared\n")}
		if strings.Contains(given, "# without the schema\n") {
			cfg.Unqualified = []string{"all"}
		}
		got := given + "\n----\n" + explanation(t, cfg)
		if *update {
			if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
				t.Fatal(err)
			}
			continue
		}
		if got != string(b) {
			t.Errorf("%s differs; run: go test ./internal/explain -run Golden -update, and look at the difference", path)
		}
	}
}

// TestExplainShowsAllOfIt holds what is shown of the texts of package rewrite's golden files to the
// plans: what the server gets is there to the last token, and nothing else but the semicolons that
// part statements.
func TestExplainShowsAllOfIt(t *testing.T) {
	t.Parallel()
	paths, err := filepath.Glob("../../rewrite/testdata/*.sql")
	if err != nil || len(paths) == 0 {
		t.Fatalf("no golden files: %v", err)
	}
	// words has no blanks and no semicolons.
	words := func(sql string) string {
		var b strings.Builder
		l := lex.Lexer{Text: sql}
		for tok := l.Next(); tok.Kind != lex.End && tok.Kind != lex.Open; tok = l.Next() {
			if text := sql[tok.Start:tok.End]; text != ";" {
				b.WriteString(strings.Join(strings.Fields(text), ""))
			}
		}
		return b.String()
	}
	e := newExplainer(Config{Prepared: true}, nil)
	if e.site, err = siteFor(t.Context(), "", nil); err != nil {
		t.Fatal(err)
	}
	shown := 0
	for _, path := range paths {
		b, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range strings.Split(strings.TrimRight(string(b), "\n"), "\n\n") {
			client, _, _ := strings.Cut(remark.ReplaceAllString(c, ""), "\n----")
			e.text, e.statements = client, nil
			e.out.Reset()
			e.readStatements(t.Context())
			p := e.rewrite.Rewrite(t.Context(), client, e.session, e.env)
			if p == nil || p.IsForwarded() {
				continue
			}
			var all strings.Builder
			for _, s := range e.describe(p, p) {
				if functions := functionsIn(s.inline, s.from, s.to); len(s.refusals) == 0 {
					for _, call := range s.calls {
						inPlace := strings.HasPrefix(served(call, functions), "in place")
						if call.Func.Effect == sqlfuncs.Writes && inPlace != (len(functions) > 0) {
							t.Errorf("%s\n%s is %s", client, call.Name, served(call, functions))
						}
					}
				}
				all.WriteString(s.sql + ";")
				shown++
			}
			if words(all.String()) != words(p.SQL()) {
				t.Errorf("%s\nis shown as\n%s\nand is\n%s", client, all.String(), p.SQL())
			}
			if _, ok := layout.SQL(p.SQL()); !ok {
				t.Errorf("cannot be laid out: %s", p.SQL())
			}
			e.sql(p.SQL())
			if words(e.out.String()) != words(p.SQL()) {
				t.Errorf("%s\nis laid out as\n%s", client, e.out.String())
			}
		}
	}
	if shown < 300 {
		t.Errorf("only %d statements", shown)
	}
}

// What a text says of itself stays in comments: a carriage return ends one, as the end of a line does.
func TestExplainRemarksAreComments(t *testing.T) {
	t.Parallel()
	for _, end := range []string{"\n", "\r", "\r\n"} {
		got, _, _ := strings.Cut(explanation(t, Config{Text: "select mbus4.consume('q', \"x" + end + "select 3;\" => 1)"}), "ends with 1")
		if !strings.Contains(got, "-- select 3;") || strings.Contains(got, "\r") {
			t.Errorf("%q: got\n%q", end, got)
		}
	}
}

func TestExplainReadsUTF8(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"select '\xff'", "select \x00"} {
		if got := explanation(t, Config{Text: text}); got != "ends with 1: the text is not in UTF-8\n" {
			t.Errorf("%q: %s", text, got)
		}
	}
}

// A text that is refused as a whole is shown as one, however many statements it has.
func TestExplainRefusesWhatIsTooLong(t *testing.T) {
	t.Parallel()
	got := explanation(t, Config{Text: strings.Repeat("select mbus4.post('q', '');", 3000)})
	if !strings.Contains(got, "-- ERROR:  54000: ") || strings.Contains(got, "statement 1") || !strings.Contains(got, "ends with 1: a statement is refused with 54000") {
		t.Errorf("got\n%.1000s", got)
	}
}

// sqlOf is an explanation without its comments.
func sqlOf(explanation string) string {
	var sql []string
	for _, line := range strings.Split(explanation, "\n") {
		if !strings.HasPrefix(line, "--") {
			sql = append(sql, line)
		}
	}
	return strings.Join(sql, "\n")
}

// TestExplainIsWhatTheServerGets compares explanations with what the proxy makes of the same texts,
// in a database whose selectors and waiting messages Explain has to find, and which it leaves as it
// is.
func TestExplainIsWhatTheServerGets(t *testing.T) {
	t.Parallel()
	cluster := clusterOfOwn(t)
	eng, err := engine.Open(t.Context(), engine.Options{AdminDSN: cluster.DSN("postgres")})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(eng.Close)
	conn, err := pgx.Connect(t.Context(), cluster.DSN("postgres"))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(t.Context())
	run := func(sql string) {
		t.Helper()
		if _, err := conn.Exec(t.Context(), sql, pgx.QueryExecModeSimpleProtocol); err != nil {
			t.Fatal(err)
		}
	}
	run("create schema elsewhere; create extension hstore schema elsewhere")
	r := rewriter.New(eng, nil, parse.New(), true)
	noValues, ok := wire.ReadValues(make([]byte, 8)) // no names, formats or parameters
	if !ok {
		t.Fatal("not the body of a Bind")
	}
	gets := func(text string, simple bool) string {
		sc := statements.Context{User: "postgres", Database: "postgres", Encoding: "UTF8", Secret: splice.BlankSecret, Simple: simple}
		p := r.Rewrite(t.Context(), sc, text)
		if !p.BindTime() {
			return p.SQL()
		}
		prelude := p.Prelude(t.Context(), sc, noValues)
		switch {
		case prelude == nil:
			return p.SQL()
		case strings.Contains(prelude.SQL(), "mbus4-refusal"):
			return prelude.SQL()
		}
		var all strings.Builder
		for ; prelude != nil; prelude = statements.Next(prelude) {
			all.WriteString(prelude.SQL() + ";")
		}
		return all.String() + p.SQL()
	}
	const consume = "select * from mbus4.consume('q')"
	if _, err := eng.Database(t.Context(), "postgres"); err != nil {
		t.Fatal(err)
	}
	before := explanation(t, Config{Text: consume, Admin: cluster.DSN("postgres")})
	if !strings.HasPrefix(before, "-- for database postgres: without messages that wait for others\n") {
		t.Errorf("got\n%s", before)
	}
	run(gets("select mbus4.create_queue('q', 1)", true))
	run(gets("select mbus4.create_consumer('q', 'c', $$(t.data->'size')='large'$$)", true))
	run(gets("select mbus4.post('q', '', iid => 'first')", true))
	run(gets("select mbus4.post('q', '', 'consume_after=>{first}')", true))
	after := explanation(t, Config{Text: consume, Admin: cluster.DSN("postgres")})
	if !strings.HasPrefix(after, "-- for database postgres: with messages that wait for others\n") {
		t.Errorf("got\n%s", after)
	}
	if sqlOf(before) == sqlOf(after) {
		t.Error("a message that waits makes no difference")
	}
	for _, text := range []string{
		"select mbus4.post('q', 'a=>1')",
		consume,
		"select 1 where mbus4.post('q', '') is not null",
		"select mbus4.post('q')",
		"select mbus4.create_consumer('q', 'd', 'select 1')",
		"select mbus4.create_consumer('q', 'd', 't.iid is not null')",
		"select mbus4.create_view('q'), mbus4.run_on_q('select mbus4.post(''q'', '''')')",
		"select mbus4.run_on_q('select ' || current_user)",
		"select mbus4.run_on_q('select mbus4.run_on_q('''')')",
		"select mbus4.create_view('q', viewname => '.')",
		"call mbus4.process_queue('x')",
	} {
		for _, simple := range []bool{true, false} {
			want := &explainer{}
			want.sql(gets(text, simple))
			got := sqlOf(explanation(t, Config{Text: text, Prepared: !simple, Admin: cluster.DSN("postgres")}))
			if i := strings.Index(got, "ends with 1"); i >= 0 {
				got = got[:i]
			}
			shown, real := strings.Split(got, "\n"), strings.Split(want.out.String(), "\n")
			for i := range real {
				if i >= len(shown) || shown[i] != real[i] {
					t.Errorf("%s, simple %v: line %d of %d, for %d, is not\n%s", text, simple, i+1, len(shown), len(real), real[i])
					break
				}
			}
			if len(shown) > len(real) {
				t.Errorf("%s, simple %v: more than\n%s", text, simple, want.out.String())
			}
		}
	}
	explanation(t, Config{Text: "select mbus4.create_consumer('q', 'd', 't.expires is null')", Admin: cluster.DSN("postgres")})
	var kept int
	if err := conn.QueryRow(t.Context(), "select count(*) from mbus4.selector where text like 't.expires%'").Scan(&kept); err != nil || kept != 0 {
		t.Errorf("%d selectors are kept: %v", kept, err)
	}
}

// A database without the schema is told, and none is made.
func TestExplainInstallsNothing(t *testing.T) {
	t.Parallel()
	cluster := clusterOfOwn(t)
	cfg := Config{Text: "select mbus4.post('q', '')", Admin: cluster.DSN("postgres")}
	for range 2 {
		if got := explanation(t, cfg); got != "ends with 1: database \"postgres\" has no schema mbus4\n" {
			t.Errorf("got %s", got)
		}
	}
}
