package clients

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"mbusproxy/integration/internal/harness"
	"mbusproxy/integration/internal/programs"
)

// wantPsql runs a script through the proxy and compares all that psql shows.
func wantPsql(t *testing.T, database, script, stdout, stderr string, args ...string) {
	t.Helper()
	got := programs.Psql(t, harness.Proxied(), database, script, args...)
	if programs.Trim(got.Stdout) != programs.Trim(stdout) {
		t.Errorf("stdout:\n%s", harness.LineDiff(programs.Trim(stdout), programs.Trim(got.Stdout)))
	}
	if programs.Trim(got.Stderr) != programs.Trim(stderr) {
		t.Errorf("stderr:\n%s", harness.LineDiff(programs.Trim(stderr), programs.Trim(got.Stderr)))
	}
}

// Every file of testdata/psql is a script of ordinary work; all of its output, errors with
// their LINE and caret included, is the same direct and through the proxy.
func TestPsqlOrdinary(t *testing.T) {
	t.Parallel()
	scripts, err := filepath.Glob("testdata/psql/*.sql")
	if err != nil || len(scripts) == 0 {
		t.Fatalf("no scripts: %v", err)
	}
	for _, path := range scripts {
		t.Run(filepath.Base(path), func(t *testing.T) {
			t.Parallel()
			script, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			var outcomes []programs.Outcome
			for _, e := range harness.Both() {
				outcomes = append(outcomes, programs.Psql(t, e, harness.NewDatabase(t), string(script)))
			}
			compare(t, outcomes[0], outcomes[1])
			if strings.Count(outcomes[0].Stdout, "\n") < 5 {
				t.Errorf("the script did not run:\n%s%s", outcomes[0].Stdout, outcomes[0].Stderr)
			}
		})
	}
}

// psql -c sends all of its text in one Query message.
func TestPsqlCommandOption(t *testing.T) {
	t.Parallel()
	for _, command := range []string{
		"select 1; select 2; select 3",
		"create table a (x int); insert into a values (1); select * from a; select nosuch from a",
		"select 1;; select 'ä' as \"ü\", nosuch",
		"begin; select 1/0; commit",
		"copy (select 1, 'two') to stdout",
		`\d pg_class`,
		`\l template0`,
	} {
		t.Run(command, func(t *testing.T) {
			t.Parallel()
			var outcomes []programs.Outcome
			for _, e := range harness.Both() {
				outcomes = append(outcomes, programs.Psql(t, e, harness.NewDatabase(t), "", "-c", command))
			}
			compare(t, outcomes[0], outcomes[1])
		})
	}
	t.Run("with calls", func(t *testing.T) {
		t.Parallel()
		database := harness.NewDatabase(t)
		wantPsql(t, database, "", "q.1|t", "", "-At", "-c",
			"select mbus4.create_queue('q', 1) where false; select 'q.1', true")
		wantPsql(t, database, "", "\na|t\na\nnone left", "", "-At",
			"-c", "select mbus4.create_queue('q', 1)",
			"-c", "select mbus4.post('q', 'n=>1', iid => 'a'), true; select iid from mbus4.consume('q'); select 'none left' where not mbus4.peek_q()")
	})
}

// linesBegin reports whether each line of text begins with the line of starts in its place.
func linesBegin(text, starts string) bool {
	ts, ss := strings.Split(text, "\n"), strings.Split(starts, "\n")
	if len(ts) != len(ss) {
		return false
	}
	for i := range ts {
		if !strings.HasPrefix(ts[i], ss[i]) {
			return false
		}
	}
	return true
}
