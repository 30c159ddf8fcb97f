package clients

import (
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"mbusproxy/integration/internal/harness"
	"mbusproxy/integration/internal/programs"
)

// program is what stands around the README's lines of a language, where %s is.
type program struct {
	block, file, frame string
	run                func(t *testing.T, file string) programs.Outcome
}

// TestReadmeLanguages runs the README's lines in each language.
func TestReadmeLanguages(t *testing.T) {
	t.Parallel()
	readme, err := os.ReadFile("../../README.md")
	if err != nil {
		t.Fatal(err)
	}
	_, section, _ := strings.Cut(string(readme), "\n## The same from any language\n")
	section, _, _ = strings.Cut(section, "\n## ")
	programs.NeedPython(t, "psycopg", "python3-psycopg")
	programs.NeedFile(t, jdbcDriver, "libpostgresql-jdbc-java")
	node, modules := nodePostgres(t)
	all := []program{
		{"python", "hello.py", "import psycopg\nfrom psycopg.types.json import Json\n%s", func(t *testing.T, file string) programs.Outcome {
			return programs.Run(t, nil, "", "", programs.Python, file)
		}},
		{"js", "hello.mjs", "import pg from 'pg'\n%sawait db.end()", func(t *testing.T, file string) programs.Outcome {
			if err := os.Symlink(modules, filepath.Join(filepath.Dir(file), "node_modules")); err != nil {
				t.Fatal(err)
			}
			return programs.Run(t, nil, "", "", node, file)
		}},
		{"java", "Hello.java", "import java.sql.*;\nclass Hello { public static void main(String[] a) throws Exception {\n%s}}", func(t *testing.T, file string) programs.Outcome {
			return programs.Run(t, nil, "", "", programs.Find(t, "java", "a JDK (default-jdk-headless)"), "-Xshare:auto", "-XX:TieredStopAtLevel=1", "-cp", jdbcDriver, file)
		}},
		{"go", "hello.go", "package main\nimport (\"context\"; \"fmt\"; \"github.com/jackc/pgx/v5\")\nfunc main() {\nctx := context.Background()\n%s}", func(t *testing.T, file string) programs.Outcome {
			return programs.Run(t, nil, "", "", programs.Find(t, "go", "Go"), "run", file)
		}},
		{"php", "hello.php", "<?php\n%s", func(t *testing.T, file string) programs.Outcome {
			return programs.Run(t, nil, "", "", programs.Find(t, "php", "php-cli"), file)
		}},
	}
	if n := strings.Count(section, "\n```\n"); n != len(all) {
		t.Fatalf("the README has %d blocks, %d are run", n, len(all))
	}
	answer := regexp.MustCompile(`^orders\.\S+\.\d+ 7( <nil>)?\n$`)
	e := harness.Proxied()
	for _, p := range all {
		t.Run(p.block, func(t *testing.T) {
			t.Parallel()
			_, lines, found := strings.Cut(section, "```"+p.block+"\n")
			lines, _, _ = strings.Cut(lines, "```\n")
			database := harness.NewQueueDatabase(t, "orders")
			here := strings.NewReplacer("127.0.0.1", e.Host, "6432/postgres", strconv.Itoa(e.Port)+"/"+database,
				"6432", strconv.Itoa(e.Port), "dbname=postgres", "dbname="+database).Replace(lines)
			if !found || here == lines {
				t.Fatalf("no lines for %s that lead to the proxy", p.block)
			}
			file := filepath.Join(t.TempDir(), p.file)
			if err := os.WriteFile(file, []byte(strings.Replace(p.frame, "%s", here, 1)), 0o600); err != nil {
				t.Fatal(err)
			}
			if got := p.run(t, file); got.Status != 0 || !answer.MatchString(got.Stdout) {
				t.Errorf("status %d\n%s%s", got.Status, got.Stdout, got.Stderr)
			}
		})
	}
}
