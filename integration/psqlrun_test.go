package integration

import (
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// psqlTool finds psql and its major version.
func psqlTool(t *testing.T) (path string, major int) {
	t.Helper()
	path = tool(t, "psql", "postgresql-client")
	version := run(t, nil, "", "", path, "--version").stdout
	found := regexp.MustCompile(`\(PostgreSQL\) (\d+)`).FindStringSubmatch(version)
	if found == nil {
		t.Fatalf("no version in %q", version)
	}
	major, _ = strconv.Atoi(found[1])
	return path, major
}

var watchHeading = regexp.MustCompile(`(?m)^\w{3} .* \(every .*\)\n`)

// psql runs a script as psql would from its standard input, or with args alone.
func psql(t *testing.T, e endpoint, database, script string, args ...string) ran {
	t.Helper()
	path, _ := psqlTool(t)
	all := append([]string{"-X", "-q", "-d", e.url(database)}, args...)
	got := run(t, []string{"PAGER=", "PGOPTIONS="}, script, t.TempDir(), path, all...)
	got.stdout = watchHeading.ReplaceAllString(got.stdout, "") // it has the time of day
	return got
}

// trim drops what nobody sees: blanks at the ends of lines, empty lines at the ends.
func trim(text string) string {
	lines := strings.Split(text, "\n")
	for i := range lines {
		lines[i] = strings.TrimRight(lines[i], " \t")
	}
	return strings.Trim(strings.Join(lines, "\n"), "\n")
}
