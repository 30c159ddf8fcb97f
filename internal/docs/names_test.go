package docs

import (
	"fmt"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

var (
	// fenced is a block of code; what stands in it is SQL, shell or a picture.
	fenced = regexp.MustCompile("(?ms)^```.*?^```")
	// quoted is what a document marks as a name.
	quoted = regexp.MustCompile("`([^`\n]+)`")
	// goName is package.Name or package.Type.member; the package may bear folders.
	goName = regexp.MustCompile(`^((?:[a-z0-9_-]+/)*[a-z][a-z0-9]*)\.([A-Za-z_]\w*(?:\.[A-Za-z_]\w*)?)$`)
	// testName is a test, fuzzer or benchmark; … stands for the rest of the name.
	testName = regexp.MustCompile(`^((?:Test|Fuzz|Benchmark)[A-Z]\w*)(…?)$`)
	// camelName is a single name that only a program spells so.
	camelName = regexp.MustCompile(`^[a-z]+[A-Z]\w*$`)
	// fileName ends like the files of the repository.
	fileName = regexp.MustCompile(`^[\w.*{},<>/-]+\.(go|sql|md|sh|yml|mod|txt|py|js|java)$`)
	// folder is a path without such an end.
	folder = regexp.MustCompile(`^[\w.*-]+(/[\w.*-]+)+/?$`)
	// bareFile is a file of the program that is named without its folder.
	bareFile = regexp.MustCompile(`\b[a-z][a-z0-9_]*\.go\b`)
	link     = regexp.MustCompile(`\]\(([^)\s]+)\)`)
)

// foreign are the first parts of names with dots that are none of Go's: schemas, objects of SQL, and packages that are
// not ours.
var foreign = []string{"mbus4", "pg_catalog", "t", "c", "context", "pgx", "pgconn", "zap"}

// wrong returns what is wrong with a name that stands in backticks in a document in folder dir. strict: a
// name with dots must be ours. What looks like none of the kinds is let pass.
func (t *tree) wrong(token, dir string, strict bool) string {
	token = strings.TrimSuffix(token, "()")
	if m := testName.FindStringSubmatch(token); m != nil {
		if !t.hasTest(m[1], m[2] != "") {
			return "no such test"
		}
		return ""
	}
	if camelName.MatchString(token) && !t.words[token] && !slices.Contains(others, token) {
		return "no such name"
	}
	if m := goName.FindStringSubmatch(token); m != nil && !fileName.MatchString(token) {
		packages := t.named(m[1])
		switch {
		case slices.Contains(foreign, m[1]):
		case len(packages) == 0 && (strict || strings.Contains(m[1], "/")):
			return "no such package"
		case len(packages) > 0 && !declares(packages, m[2]):
			return "no such name in the package"
		}
		return ""
	}
	if fileName.MatchString(token) || folder.MatchString(token) && t.files[strings.SplitN(token, "/", 2)[0]] {
		return t.wrongPath(token, dir)
	}
	return ""
}

// placeholder is the part of a path that a document leaves open.
var placeholder = regexp.MustCompile(`<[^>]*>`)

// wrongPath checks a path from the root, or from the document's folder; a bare file name may be anywhere.
func (t *tree) wrongPath(token, dir string) string {
	pattern := strings.TrimSuffix(placeholder.ReplaceAllString(token, "*"), "/")
	for _, p := range braces(pattern) {
		if !t.matches(p) && !t.matches(path.Join(dir, p)) && (strings.Contains(p, "/") || !t.hasFile(p)) {
			return "no such file"
		}
	}
	return ""
}

// braces expands one {a,b}.
func braces(pattern string) (all []string) {
	before, rest, ok := strings.Cut(pattern, "{")
	middle, after, closed := strings.Cut(rest, "}")
	if !ok || !closed {
		return []string{pattern}
	}
	for _, m := range strings.Split(middle, ",") {
		all = append(all, before+m+after)
	}
	return all
}

// hasFile reports whether a file of that name is in any folder.
func (t *tree) hasFile(name string) bool {
	if !strings.Contains(name, "*") {
		return t.bases[name]
	}
	for file := range t.files {
		if ok, err := path.Match(name, path.Base(file)); ok && err == nil {
			return true
		}
	}
	return false
}

func (t *tree) hasTest(name string, prefix bool) bool {
	for _, p := range t.packages {
		if p.names[name] {
			return true
		}
		for n := range p.names {
			if prefix && strings.HasPrefix(n, name) {
				return true
			}
		}
	}
	return false
}

// check returns what is wrong with the names and links of a document.
func (t *tree) check(document, text string, strict bool) (problems []string) {
	dir := path.Dir(document)
	text = fenced.ReplaceAllString(text, "")
	for _, m := range quoted.FindAllStringSubmatch(text, -1) {
		if what := t.wrong(m[1], dir, strict); what != "" {
			problems = append(problems, fmt.Sprintf("%s: `%s`: %s", document, m[1], what))
		}
	}
	for _, name := range bareFile.FindAllString(text, -1) {
		if !t.hasFile(name) {
			problems = append(problems, fmt.Sprintf("%s: %s: no such file", document, name))
		}
	}
	for _, m := range link.FindAllStringSubmatch(text, -1) {
		if what := t.wrongLink(m[1], document); what != "" {
			problems = append(problems, fmt.Sprintf("%s: (%s): %s", document, m[1], what))
		}
	}
	return problems
}

// wrongLink checks a link within the repository, with the heading it leads to.
func (t *tree) wrongLink(target, document string) string {
	dir := path.Dir(document)
	if strings.Contains(target, "://") {
		return ""
	}
	file, anchor, _ := strings.Cut(target, "#")
	at := path.Join(dir, file)
	if file == "" {
		at = document
	}
	if !t.files[at] {
		return "leads nowhere"
	}
	if anchor == "" {
		return ""
	}
	text, err := os.ReadFile(filepath.Join(root, filepath.FromSlash(at)))
	if err != nil {
		return err.Error()
	}
	if !slices.Contains(anchors(string(text)), anchor) {
		return "no such heading"
	}
	return ""
}

var (
	heading = regexp.MustCompile(`(?m)^#+ +(.*)$`)
	noise   = regexp.MustCompile(`[^\w\- ]`)
)

// anchors are the headings of a document as links name them.
func anchors(text string) (all []string) {
	for _, m := range heading.FindAllStringSubmatch(fenced.ReplaceAllString(text, ""), -1) {
		all = append(all, strings.ReplaceAll(noise.ReplaceAllString(strings.ToLower(m[1]), ""), " ", "-"))
	}
	return all
}

// checkFile fails the test for whatever is wrong in a document.
func checkFile(t *testing.T, document string, strict bool) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(root, filepath.FromSlash(document)))
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range theTree(t).check(document, string(text), strict) {
		t.Error(p)
	}
}

// TestTourNamesExist holds the tour and the design to the code; there every name with a dot is one of Go's, or foreign.
func TestTourNamesExist(t *testing.T) {
	t.Parallel()
	for _, document := range []string{"docs/tour.md", "docs/design.md"} {
		checkFile(t, document, true)
	}
}

// TestNamesAndLinksExist holds all documents to the tree.
func TestNamesAndLinksExist(t *testing.T) {
	t.Parallel()
	n := 0
	for file := range theTree(t).files {
		if strings.HasSuffix(file, ".md") && file != "CHANGELOG.md" {
			checkFile(t, file, false)
			n++
		}
	}
	if n < 20 {
		t.Errorf("looked at %d documents only", n)
	}
}

// TestWrongNamesAreFound shows that the check of documents can fail, for each kind of name.
func TestWrongNamesAreFound(t *testing.T) {
	t.Parallel()
	tr := theTree(t)
	for text, wrong := range map[string]bool{
		"`docs.tree.files`, `docs.goPackage`, `docs.tree.matches()`, `internal/docs.root`": false,
		"`mbus4.consume`, `pg_stat_activity`, `--listen`, `select 1.5`":                    false,
		"`docs/adr/0004-relay.md`, `adr/0004-relay.md`, `adr/*.md`, `internal/docs`":       false,
		"`TestWrongNamesAreFound`, `TestWrong…`, names_test.go, `names_test.go`":           false,
		"[tour](adr/0004-relay.md#decision), [here](#reload), [out](https://example.org)":  false,
		"```\n`docs.nothing` in code\n```\n":                                               false,
		"`goPackage`, `wrongLink`":                                                         false,
		"`noSuch" + "Thing`":                                                               true,
		"`docs.tree.folders`":                                                              true,
		"`docs.trees`":                                                                     true,
		"`docs.tree.matched()`":                                                            true,
		"`nopackage.Type`":                                                                 true,
		"`internal/nopackage.Type`":                                                        true,
		"`docs/adr/0004-relais.md`":                                                        true,
		"`docs/adr/x*.md`":                                                                 true,
		"`names_tests.go`":                                                                 true,
		"in names_tests.go":                                                                true,
		"`internal/doc`":                                                                   true,
		"`TestWrongNames`":                                                                 true,
		"`TestWrongly…`":                                                                   true,
		"[x](adr/0004-relais.md)":                                                          true,
		"[x](adr/0004-relay.md#decisions)":                                                 true,
		"[x](#decisions)":                                                                  true,
	} {
		if got := tr.check("docs/operations.md", text, true); (len(got) > 0) != wrong {
			t.Errorf("%q: %q", text, got)
		}
	}
}
