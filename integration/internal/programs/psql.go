package programs

import (
	"regexp"
	"strconv"
	"strings"
	"testing"

	"mbusproxy/integration/internal/harness"
)

// FindPsql finds psql and its major version.
func FindPsql(t *testing.T) (path string, major int) {
	t.Helper()
	path = Find(t, "psql", "postgresql-client")
	version := Run(t, nil, "", "", path, "--version").Stdout
	found := regexp.MustCompile(`\(PostgreSQL\) (\d+)`).FindStringSubmatch(version)
	if found == nil {
		t.Fatalf("no version in %q", version)
	}
	major, _ = strconv.Atoi(found[1])
	return path, major
}

var watchHeading = regexp.MustCompile(`(?m)^\w{3} .* \(every .*\)\n`)

// Psql runs a script as psql would from its standard input, or with args alone.
func Psql(t *testing.T, e harness.Endpoint, database, script string, args ...string) Outcome {
	t.Helper()
	path, _ := FindPsql(t)
	all := append([]string{"-X", "-q", "-d", e.URL(database)}, args...)
	got := Run(t, []string{"PAGER=", "PGOPTIONS="}, script, t.TempDir(), path, all...)
	got.Stdout = watchHeading.ReplaceAllString(got.Stdout, "") // it has the time of day
	return got
}

// Trim drops what nobody sees: blanks at the ends of lines, empty lines at the ends.
func Trim(text string) string {
	lines := strings.Split(text, "\n")
	for i := range lines {
		lines[i] = strings.TrimRight(lines[i], " \t")
	}
	return strings.Trim(strings.Join(lines, "\n"), "\n")
}
