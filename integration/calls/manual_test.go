package calls

import (
	"flag"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"mbusproxy/sqlfuncs"

	"mbusproxy/integration/internal/harness"
	"mbusproxy/integration/internal/programs"
)

const manualPath = "../../docs/functions.md"

var updateManual = flag.Bool("update", false, "write the outputs in docs/functions.md anew")

// manualEntry is what docs/functions.md says of one function.
type manualEntry struct {
	name, signature string
	examples        []*manualExample
}

// manualExample is a block of SQL and the block of output that follows it.
type manualExample struct{ sql, output string }

var (
	entryHeading   = regexp.MustCompile("(?m)^### `([^`]+)`$")
	entrySignature = regexp.MustCompile("(?m)^`(mbus4\\.[^`]+)`$")
	entryExample   = regexp.MustCompile("(?ms)^```sql\n(.*?)^```\n\n^```text\n(.*?)^```$")
)

// readManual gives the text and its entries in order.
func readManual(t *testing.T) (string, []*manualEntry) {
	t.Helper()
	b, err := os.ReadFile(manualPath)
	if err != nil {
		t.Fatal(err)
	}
	text := string(b)
	var entries []*manualEntry
	heads := entryHeading.FindAllStringSubmatchIndex(text, -1)
	for i, h := range heads {
		end := len(text)
		if i+1 < len(heads) {
			end = heads[i+1][0]
		}
		body := text[h[1]:end]
		e := &manualEntry{name: text[h[2]:h[3]]}
		if m := entrySignature.FindStringSubmatch(body); m != nil {
			e.signature = m[1]
		}
		for _, m := range entryExample.FindAllStringSubmatch(body, -1) {
			e.examples = append(e.examples, &manualExample{m[1], m[2]})
		}
		entries = append(entries, e)
	}
	return text, entries
}

// Every function of the catalogue has an entry with its signature and an example, and no other has.
func TestFunctionManual(t *testing.T) {
	t.Parallel()
	_, entries := readManual(t)
	described := map[string]*manualEntry{}
	for _, e := range entries {
		if described[e.name] != nil {
			t.Errorf("%s has two entries", e.name)
		}
		described[e.name] = e
		if len(e.examples) == 0 {
			t.Errorf("%s has no example", e.name)
		}
	}
	for _, f := range sqlfuncs.All() {
		name := f.DisplayName()
		e := described[name]
		if e == nil {
			t.Errorf("%s has no entry in %s", name, manualPath)
			continue
		}
		if expected := f.Signature(name); e.signature != expected {
			t.Errorf("%s:\n has %s\nwant %s", name, e.signature, expected)
		}
		delete(described, name)
	}
	for name := range described {
		t.Errorf("%s has an entry but is not served", name)
	}
}

// The examples print what the manual says.
func TestFunctionDocs(t *testing.T) {
	t.Parallel()
	text, entries := readManual(t)
	database := harness.NewDatabase(t)
	const end = "--- the end of an example ---"
	var script strings.Builder
	var examples []*manualExample
	for _, e := range entries {
		for _, x := range e.examples {
			examples = append(examples, x)
			script.WriteString(x.sql + "\\warn " + end + "\n")
		}
	}
	path, _ := programs.FindPsql(t)
	// One stream for both, as on a terminal.
	got := programs.Run(t, []string{"PAGER=", "PGOPTIONS="}, script.String(), t.TempDir(), "sh", "-c", `exec "$@" 2>&1`, "sh",
		path, "-X", "-d", harness.Proxied().URL(database))
	outputs := strings.Split(got.Stdout, end+"\n")
	if len(outputs) != len(examples)+1 || got.Status != 0 {
		t.Fatalf("status %d, %d outputs of %d examples:\n%s", got.Status, len(outputs)-1, len(examples), got.Stdout)
	}
	for i, x := range examples {
		output := strings.TrimLeft(programs.Trim(mask(outputs[i], database))+"\n", "\n")
		if *updateManual {
			text = strings.Replace(text, "```sql\n"+x.sql+"```\n\n```text\n"+x.output+"```", "```sql\n"+x.sql+"```\n\n```text\n"+output+"```", 1)
			continue
		}
		if narrow(output) != narrow(x.output) {
			t.Errorf("%s\nthe manual (-) and psql (+):\n%s", x.sql, harness.LineDiff(x.output, output))
		}
	}
	if *updateManual {
		if err := os.WriteFile(manualPath, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

var (
	temporaryName = regexp.MustCompile(`temp\.[0-9a-f]{32}\.\d+`)
	exactTime     = regexp.MustCompile(`\d{4}-\d\d-\d\d \d\d:\d\d:\d\d\.\d+(\+\d\d)?`)
	serialOfApp   = regexp.MustCompile(`\.app\.\d+`)
	blanks        = regexp.MustCompile(`[ \t]+`)
	dashes        = regexp.MustCompile(`-{2,}`)
)

// mask puts words for what differs from run to run, as the manual's introduction says.
func mask(output, database string) string {
	output = temporaryName.ReplaceAllString(strings.ReplaceAll(output, database, "app"), "temp.<name>")
	return exactTime.ReplaceAllString(serialOfApp.ReplaceAllString(output, ".app.<n>"), "<time>")
}

// narrow forgets how wide columns are.
func narrow(output string) string {
	return programs.Trim(dashes.ReplaceAllString(blanks.ReplaceAllString(output, " "), "--"))
}

var (
	ruleRow  = regexp.MustCompile(`(?m)^\| (.+) \| ((?:` + "`Test\\w+`" + `(?:, )?)+) \|$`)
	testName = regexp.MustCompile(`Test\w+`)
)

// The tests that the manual names for its rules are there.
func TestFunctionRules(t *testing.T) {
	t.Parallel()
	text, _ := readManual(t)
	_, table, found := strings.Cut(text, "## Rules and their tests\n")
	if !found {
		t.Fatal("the manual has no table of rules")
	}
	tests := repositoryTests(t)
	rows := ruleRow.FindAllStringSubmatch(table, -1)
	if lines := strings.Count(table, "\n| "); lines != len(rows)+strings.Count(table, "\n| rule |") {
		t.Errorf("%d of the table's %d lines are rules with tests", len(rows), lines)
	}
	for _, row := range rows {
		for _, name := range testName.FindAllString(row[2], -1) {
			if !slices.Contains(tests, name) {
				t.Errorf("%s: there is no %s", row[1], name)
			}
		}
	}
}

var testDeclaration = regexp.MustCompile(`(?m)^func (Test\w+)\(`)

// repositoryTests is the names of all test functions.
func repositoryTests(t *testing.T) []string {
	t.Helper()
	var names []string
	err := filepath.WalkDir("../..", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(path, "_test.go") {
			return err
		}
		b, err := os.ReadFile(path)
		for _, m := range testDeclaration.FindAllStringSubmatch(string(b), -1) {
			names = append(names, m[1])
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return names
}
