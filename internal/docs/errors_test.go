package docs

import (
	"fmt"
	"go/ast"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// errorRow is a row of docs/errors.md.
type errorRow struct {
	section  string
	texts    []string
	codes    []string
	tests    []string
	postgres bool // the test compares with Postgres, whose words these are
}

var (
	cell     = regexp.MustCompile(`\s*\|\s*`)
	sqlstate = regexp.MustCompile(`\b[0-9A-Z]{5}\b`)
)

// errorRows reads the tables of docs/errors.md.
func errorRows(t *testing.T, text string) (rows []errorRow) {
	t.Helper()
	section := ""
	for _, line := range strings.Split(text, "\n") {
		if heading, ok := strings.CutPrefix(line, "## "); ok {
			section = heading
		}
		if !strings.HasPrefix(line, "| ") || strings.HasPrefix(line, "| you see") {
			continue
		}
		cells := cell.Split(strings.Trim(line, "| "), -1)
		row := errorRow{section: section, postgres: strings.Contains(line, "words of Postgres")}
		for _, m := range quoted.FindAllStringSubmatch(cells[0], -1) {
			row.texts = append(row.texts, m[1])
		}
		row.codes = sqlstate.FindAllString(cells[1], -1)
		for _, m := range quoted.FindAllStringSubmatch(cells[len(cells)-1], -1) {
			row.tests = append(row.tests, m[1])
		}
		if len(row.texts) == 0 || len(row.tests) == 0 {
			t.Errorf("a row without text or test: %s", line)
		}
		rows = append(rows, row)
	}
	return rows
}

// servers is the section on messages that are the server's, which stand in no source of ours.
const servers = "What the server says, with a hint of ours"

// pattern matches what a shape stands for.
func (s *errorScan) pattern(shape string) *regexp.Regexp {
	p := s.patterns[shape]
	if p == nil {
		p = regexp.MustCompile("^" + strings.ReplaceAll(regexp.QuoteMeta(shape), open, ".+") + "$")
		s.patterns[shape] = p
	}
	return p
}

// covers reports whether a row is about an error.
func (s *errorScan) covers(row errorRow, r raised) bool {
	if row.section == servers || r.code != "" && len(row.codes) > 0 && !slices.Contains(row.codes, r.code) {
		return false
	}
	return slices.ContainsFunc(row.texts, func(text string) bool { return s.sameShape(text, r.shape) })
}

// sameShape compares the text of a row with the shape of an error. Either may have a name where the
// other has …; what is fixed in the error's must be enough to know it by.
func (s *errorScan) sameShape(text, shape string) bool {
	fixed := len(strings.ReplaceAll(shape, open, ""))
	return s.pattern(text).MatchString(shape) || fixed >= 15 && s.pattern(shape).MatchString(text)
}

// handed are places where an error is made of another's message, which is looked at where it comes from.
var handed = []string{
	"cmd/mbusproxy/flags.go",       // what package pflag says, in our words
	"cmd/mbusproxy/main.go",        // the same
	"engine/semaphore/calls.go",    // what a call says
	"selector/error.go",            // refuse itself
	"internal/cli/errors.go",       // what server and proxy say
	"internal/cli/trusted.go",      // what package trust says
	"internal/told/told.go",        // what the engine says
	"internal/app/run.go",          // what package proxy says of its Config
	"rewrite/place/check_calls.go", // a closure, whose calls are read
}

// check returns what of the sources the rows lack, and what of the rows the sources.
func (s *errorScan) check(rows []errorRow) (problems []string) {
	for _, where := range s.unread {
		if !slices.ContainsFunc(handed, func(file string) bool { return strings.Contains(where, "/"+file) }) {
			problems = append(problems, where+": the message of this error cannot be read")
		}
	}
	for r, where := range s.found {
		if !slices.ContainsFunc(rows, func(row errorRow) bool { return s.covers(row, r) }) {
			problems = append(problems, fmt.Sprintf("no row for: %s %s (%s)", r.code, r.shape, where))
		}
	}
	for _, row := range rows {
		for _, what := range s.gone(row) {
			problems = append(problems, fmt.Sprintf("%q, %s: %s", row.texts[0], strings.Join(row.codes, ", "), what))
		}
	}
	return problems
}

// TestErrorsAreDocumented holds docs/errors.md to the sources, both ways, and to its tests.
func TestErrorsAreDocumented(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile(filepath.Join(root, "docs", "errors.md"))
	if err != nil {
		t.Fatal(err)
	}
	s, rows := scanErrors(t), errorRows(t, string(text))
	if len(rows) < 80 || len(s.found) < 200 {
		t.Fatalf("%d rows, %d errors: something is not read", len(rows), len(s.found))
	}
	for _, problem := range s.check(rows) {
		t.Error("docs/errors.md: " + problem)
	}
	for _, row := range rows {
		for _, test := range row.tests {
			if !row.postgres && !s.meets(t, test, row) {
				t.Errorf("docs/errors.md: %q: %s knows neither the text nor the SQLSTATE", row.texts[0], test)
			}
		}
	}

	// That it finds what is wrong: some error has no other row than this one, and what nothing raises shows.
	only := map[int]bool{}
	for r := range s.found {
		var about []int
		for i, row := range rows {
			if s.covers(row, r) {
				about = append(about, i)
			}
		}
		if len(about) == 1 {
			only[about[0]] = true
		}
	}
	for i, row := range rows {
		if row.section != servers && !only[i] && !slices.Contains(twice, row.texts[0]) {
			t.Errorf("docs/errors.md: nobody would miss the row of %q, %v", row.texts[0], row.codes)
		}
	}
	for _, row := range []errorRow{{texts: []string{"the moon is full"}}, {texts: []string{`queue "…" does not exist`}, codes: []string{"42704", "XX000"}}} {
		if len(s.check(append(slices.Clone(rows), row))) == 0 {
			t.Errorf("a row that is wrong is not found: %v", row)
		}
	}
	if test := "TestNamesAndLinksExist"; s.meets(t, test, errorRow{texts: []string{"the moon is full and nobody knows"}, codes: []string{"0L" + "000"}}) {
		t.Errorf("%s is taken for a test of an error", test)
	}
}

// gone returns what of a row no source raises.
func (s *errorScan) gone(row errorRow) (problems []string) {
	if row.section == servers {
		return nil
	}
	codes := slices.Clone(row.codes)
	for _, text := range row.texts {
		found := false
		for r := range s.found {
			if s.covers(errorRow{texts: []string{text}, codes: row.codes}, r) {
				found = true
				codes = slices.DeleteFunc(codes, func(code string) bool { return r.code == code || r.code == "" })
			}
		}
		if !found && !slices.ContainsFunc(elsewhere, func(p *regexp.Regexp) bool { return p.MatchString(text) }) {
			problems = append(problems, "nothing raises "+text)
		}
	}
	for _, code := range codes {
		problems = append(problems, "nothing raises it with "+code)
	}
	return problems
}

// twice are texts that package selector says, too, and so stand in two sections.
var twice = []string{`value "…" is out of range for type integer`, `invalid input syntax for type integer: "…"`}

// elsewhere are texts that are put together: see wording in cmd/mbusproxy.
var elsewhere = []*regexp.Regexp{regexp.MustCompile("^unknown flag --…$"), regexp.MustCompile("^the flag --… needs a value$")}

// meets reports whether the file of a test, or what lies in the folder testdata beside it, knows the error of a row.
func (s *errorScan) meets(t *testing.T, test string, row errorRow) bool {
	t.Helper()
	for _, src := range theTree(t).sources {
		if !strings.HasSuffix(src.file, "_test.go") || !slices.ContainsFunc(src.syntax.Decls, func(d ast.Decl) bool {
			f, ok := d.(*ast.FuncDecl)
			return ok && f.Name.Name == test
		}) {
			continue
		}
		files := []string{filepath.Join(root, src.file)}
		more, err := filepath.Glob(filepath.Join(root, path.Dir(src.file), "testdata", "*.sql"))
		if err != nil {
			t.Fatal(err)
		}
		for _, file := range append(files, more...) {
			text, err := os.ReadFile(file)
			if err != nil {
				t.Error(err)
			}
			if s.known(row, string(text)) {
				return true
			}
		}
	}
	return false
}

var twoWords = regexp.MustCompile(`[\w-]+ [\w-]+`)

// known reports whether a text has the SQLSTATE of a row, or its name, or the message's longest part; where there is no
// SQLSTATE, two words of one of the row's messages.
func (s *errorScan) known(row errorRow, text string) bool {
	for _, code := range row.codes {
		if strings.Contains(text, code) {
			return true
		}
		for name, value := range s.consts {
			if value == code && strings.Contains(text, name) {
				return true
			}
		}
	}
	for _, shape := range row.texts {
		longest := slices.MaxFunc(strings.Split(shape, open), func(a, b string) int { return len(a) - len(b) })
		if longest = strings.Trim(longest, ` "`); len(longest) >= 15 && strings.Contains(text, longest) {
			return true
		}
		if len(row.codes) == 0 && slices.ContainsFunc(twoWords.FindAllString(shape, -1), func(two string) bool { return strings.Contains(text, two) }) {
			return true
		}
	}
	return false
}
