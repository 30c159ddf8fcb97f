package docs

import (
	"fmt"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

var (
	// goTest is a command of which a document or the Makefile says that it runs certain tests.
	goTest = regexp.MustCompile("go test ([^`\n]+)")
	// selection is its flag -run or -bench with the pattern.
	selection = regexp.MustCompile(`-(?:run|bench)[ =]+(?:'([^']*)'|([^\s-]\S*))`)
	// inFolder is a package, with all below it or alone.
	inFolder = regexp.MustCompile(`(?:^| )\./([\w/]*?)(/?\.\.\.)?(?: |$)`)
	goRun    = regexp.MustCompile(`go run \./([\w/]+)`)
)

// wrongCommands returns what is wrong with the commands in a text: each alternative of a pattern must have a test in the
// packages that the command names.
func (t *tree) wrongCommands(text string) (problems []string) {
	for _, m := range goTest.FindAllStringSubmatch(text, -1) {
		command := strings.TrimSuffix(m[1], ")")
		var packages []goPackage
		for _, dir := range inFolder.FindAllStringSubmatch(command, -1) {
			dir[1] = strings.TrimSuffix(dir[1], "/")
			before := len(packages)
			for _, p := range t.packages {
				if p.dir == dir[1] || dir[2] != "" && strings.HasPrefix(p.dir+"/", strings.TrimPrefix(dir[1]+"/", "/")) {
					packages = append(packages, p)
				}
			}
			if len(packages) == before {
				problems = append(problems, fmt.Sprintf("go test %s: no package in ./%s", command, dir[1]))
			}
		}
		pattern := selection.FindStringSubmatch(command)
		if pattern == nil || len(packages) == 0 {
			continue
		}
		alternatives := []string{pattern[1] + pattern[2]}
		if !strings.Contains(alternatives[0], "(") {
			alternatives = strings.Split(alternatives[0], "|")
		}
		for _, alternative := range alternatives {
			if !hasTestLike(packages, alternative) {
				problems = append(problems, fmt.Sprintf("go test %s: no test for %s", command, alternative))
			}
		}
	}
	for _, m := range goRun.FindAllStringSubmatch(text, -1) {
		if t.in(m[1]).name != "main" {
			problems = append(problems, m[0]+": no such program")
		}
	}
	return problems
}

// hasTestLike reports whether a test, fuzzer or benchmark of the packages matches a pattern.
func hasTestLike(packages []goPackage, pattern string) bool {
	like, err := regexp.Compile(pattern)
	if err != nil {
		return false
	}
	for _, p := range packages {
		for name := range p.names {
			if testName.MatchString(name) && like.MatchString(name) {
				return true
			}
		}
	}
	return false
}

// TestCommandsRunSomething holds the commands of documents, Makefile and scripts to the tests that there are.
func TestCommandsRunSomething(t *testing.T) {
	t.Parallel()
	tr := theTree(t)
	for file := range tr.files {
		if ext := path.Ext(file); ext != ".md" && ext != ".sh" && file != "Makefile" {
			continue
		}
		text, err := os.ReadFile(filepath.Join(root, filepath.FromSlash(file)))
		if err != nil {
			t.Fatal(err)
		}
		for _, problem := range tr.wrongCommands(string(text)) {
			t.Errorf("%s: %s", file, problem)
		}
	}
}

// TestWrongCommandsAreFound shows that the check of commands can fail.
func TestWrongCommandsAreFound(t *testing.T) {
	t.Parallel()
	tr := theTree(t)
	for text, wrong := range map[string]bool{
		"(`go test -race -run 'WrongCommands|TestTour' -v ./internal/docs`)": false,
		"`go test -bench . ./rewrite`, `go test ./internal/...`":             false,
		"`go test -run WrongComands ./internal/docs`":                        true,
		"`go test -run 'WrongCommands|TestTours' ./internal/docs`":           true,
		"`go test -run WrongCommands ./internal/app`":                        true,
		"`go test ./internal/doc`":                                           true,
		"`go run ./benchmarks`":                                              true,
	} {
		if got := tr.wrongCommands(text); (len(got) > 0) != wrong {
			t.Errorf("%s: %q", text, got)
		}
	}
}
