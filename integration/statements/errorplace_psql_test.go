package statements

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5/pgconn"

	"mbusproxy/integration/internal/forms"
	"mbusproxy/integration/internal/harness"
	"mbusproxy/integration/internal/programs"
)

// What psql shows of an error, its LINE and caret included, is what it shows where the functions are the
// server's own.
func TestErrorPlacesInPsql(t *testing.T) {
	t.Parallel()
	stub, database := newStubDatabase(t, "template1"), harness.NewQueueDatabase(t, "q")
	converter := harness.Connect(t, harness.Direct(), stub)
	const prelude = "create temp table t (k text);\n"
	scripts := map[string]string{}
	for layout, write := range layouts {
		scripts[layout] = prelude + script(write)
	}
	for _, encoding := range []string{"LATIN1", "EUC_JP", "SJIS", "GB18030"} {
		chars := encodings[encoding]
		scripts[encoding] = prelude + "\\encoding " + encoding + "\n" + encode(harness.Context(t), t, converter, encoding, []string{script(func(sql string) string {
			return "/* " + chars + " */ " + strings.NewReplacer("'a=>1'", "'a=>"+chars+"'", "nosuch", `"nosuch`+chars+`"`).Replace(sql)
		})})[0]
	}
	for name, text := range scripts {
		viaDirect, viaProxy := programs.Psql(t, harness.Direct(), stub, text), programs.Psql(t, harness.Proxied(), database, text)
		if viaDirect.Stderr != viaProxy.Stderr || strings.Count(viaDirect.Stderr, "LINE ") < 40 {
			t.Errorf("%s, direct (-) and through the proxy (+):\n%s", name, changed(viaDirect.Stderr, viaProxy.Stderr))
		}
	}
}

// script makes a script of the misplaced statements, those but which psql would not take as they are.
// Several statements go in one message.
func script(write func(string) string) string {
	var b strings.Builder
	for _, sql := range misplaced {
		if strings.Count(sql, "'")%2 != 0 || strings.Count(sql, "(") != strings.Count(sql, ")") || strings.HasPrefix(sql, ";") {
			continue
		}
		b.WriteString(strings.ReplaceAll(write(sql), ";", `\;`) + "\n;\n")
	}
	return b.String()
}

// changed are the lines of harness.LineDiff that differ.
func changed(a, b string) string {
	var out []string
	for _, line := range strings.Split(harness.LineDiff(a, b), "\n") {
		if !strings.HasPrefix(line, "  ") {
			out = append(out, line)
		}
	}
	return strings.Join(out[:min(len(out), 20)], "\n")
}

// Notices have places, too: here that of a lexer's warning, before and behind calls.
func TestNoticePlaces(t *testing.T) {
	t.Parallel()
	stub, database := newStubDatabase(t, "template1"), harness.NewQueueDatabase(t, "q")
	listen := func(e harness.Endpoint, database string, said *[]pgconn.Notice) *pgconn.PgConn {
		cfg, err := pgconn.ParseConfig(e.DSN(database))
		if err != nil {
			t.Fatal(err)
		}
		cfg.OnNotice = func(_ *pgconn.PgConn, n *pgconn.Notice) { *said = append(*said, *n) }
		conn, err := pgconn.ConnectConfig(harness.Context(t), cfg)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = conn.Close(context.Background()) })
		harness.Ask(t, conn, "set standard_conforming_strings = off")
		return conn
	}
	var ofDirect, ofProxy []pgconn.Notice
	d, p := listen(harness.Direct(), stub, &ofDirect), listen(harness.Proxied(), database, &ofProxy)
	ctx := harness.Context(t)
	for _, f := range forms.All() {
		for _, sql := range []string{
			`select 'a\\b', mbus4.post('q', 'a=>1') is null`,
			`select mbus4.post('q', 'a=>1') is null, 'a\\b'`,
			`select 'ä漢😀', mbus4.post('q', 'a=>1') is null, /*😀*/ 'a\\b'`,
			`select mbus4.post('q', 'a=>c\\d') is null`,
			`select mbus4.post('q', hstore('x\'y', random()::text)) is null, mbus4.post('q', hstore('k', 'c\\d')) is null`,
			`select 1 where mbus4.post('q', 'a=>c\\d') is null`,
			`select 'a\\b'; select mbus4.post('q', 'c=>d') is null; select 'e\\f'`,
		} {
			ofDirect, ofProxy = nil, nil
			_, directErr := f.Run(ctx, d, forms.Do(sql))
			_, proxyErr := f.Run(ctx, p, forms.Do(sql))
			if harness.Describe(directErr) != harness.Describe(proxyErr) || len(ofDirect) == 0 && directErr == nil && f.Name != "prepared" {
				t.Errorf("%s %s: direct %s with %d notices, proxied %s", f.Name, sql, harness.Describe(directErr), len(ofDirect), harness.Describe(proxyErr))
			}
			for i := range max(len(ofDirect), len(ofProxy)) {
				var a, b pgconn.Notice
				if i < len(ofDirect) {
					a = ofDirect[i]
				}
				if i < len(ofProxy) {
					b = ofProxy[i]
				}
				if a.Position != b.Position || a.Code != b.Code || a.Message != b.Message || a.Severity != b.Severity {
					t.Errorf("%s %s:\n  direct %s %s %s at %d\n proxied %s %s %s at %d", f.Name, sql,
						a.Severity, a.Code, a.Message, a.Position, b.Severity, b.Code, b.Message, b.Position)
				}
			}
		}
	}
}

// What the proxy refuses itself it refuses in its place.
func TestRefusalPlaces(t *testing.T) {
	t.Parallel()
	conn := harness.Connect(t, harness.Proxied(), harness.NewQueueDatabase(t, "q"))
	ctx := harness.Context(t)
	harness.Ask(t, conn, "create temp table t (k text)")
	for _, c := range []struct{ sql, at, code string }{
		{"create view v as select 'é', mbus4.post('q', 'a=>1')", "mbus4.post", "0A000"},
		{"select 'é', mbus4.post('q')", "mbus4.post", "42883"},
		{"select 1, mbus4.post('q', 'a=>1', nosuch => 1)", "mbus4.post", "42883"},
		{"select 1; select mbus4.post('q', 'a=>1'); select 'é', mbus4.post(1, 2, 3)", "mbus4.post(1", "42883"},
		{"select mbus4.post('q', 'a=>1'), mbus4.post('q', t) from t", "t) from", "42883"},
		{"select mbus4.post('nowhere', 'a=>1')", "mbus4.post", "42704"},
		{"select 'é', mbus4.post('q', 'a=>1'), mbus4.post('nowhere', 'a=>1')", "mbus4.post('nowhere", "42704"},
		{"select 1; select 'é' where mbus4.post('nowhere', 'a=>1') is null", "mbus4.post", "42704"},
		{"select 'é', mbus4.create_consumer('q', 'c', 'no selector')", "'no selector'", "42601"},
		{"select 'é', mbus4.create_consumer('q', 'c', k) from t", "k) from", "0A000"},
		{"select 'é'; call mbus4.post('q', 'a=>1')", "mbus4.post", "42809"},
		{"select 'é', (mbus4.take('x')).* from t where mbus4.post('q', 'a=>1') is null", "mbus4.take", "0A000"},
	} {
		for layout, write := range layouts {
			if layout == "multibyte around" {
				continue // it changes the words looked for
			}
			sql, at := write(c.sql), write(c.at)
			if layout != "plain" { // what is looked for has no beginning of its own
				at = strings.TrimPrefix(strings.TrimPrefix(at, write("")), "-- é\n")
			}
			_, err := harness.Query(ctx, conn, sql)
			var report *pgconn.PgError
			if !errors.As(err, &report) || c.code != "" && report.Code != c.code {
				t.Errorf("%s: %q: %s, want %s", layout, sql, harness.Describe(err), c.code)
				continue
			}
			i := strings.LastIndex(sql, at)
			if i < 0 {
				t.Fatalf("%q is not in %q", at, sql)
			}
			if expected := len([]rune(sql[:i])) + 1; int(report.Position) != expected {
				t.Errorf("%s: %q: position %d, want %d (%s)", layout, sql, report.Position, expected, harness.Describe(err))
			}
		}
	}
}
