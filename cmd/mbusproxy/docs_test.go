package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/spf13/cobra"
)

var (
	// consoleBlock is commands with their outputs; one whose numbers differ from run to run has the comment before it.
	consoleBlock = regexp.MustCompile("(?s)(<!-- shape -->\n)?```console\n(.*?)```\n")

	shownIID  = regexp.MustCompile(`(\borders\.app\.)\d+`)
	shownTime = regexp.MustCompile(`\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(\.\d+)?([+-]\d\d(:\d\d)?)?`)
	digits    = regexp.MustCompile(`~?[0-9]+([.:][0-9]+)*|\B-\B`) // and - for none
	gaps      = regexp.MustCompile(`[ ]+`)
	runs      = regexp.MustCompile(`mbusproxy ([a-z]+( [a-z]+)?)`)
	// slowLines are what commands print besides where something takes more than a second.
	slowLines = regexp.MustCompile(`(?m)^(counting|[a-z, ]+: \d+( of \d+)?)\n`)
)

// TestCommandDocs runs the examples of docs/commands.md and compares what they print.
// `go test ./cmd/mbusproxy -run TestCommandDocs -update` writes the outputs.
func TestCommandDocs(t *testing.T) {
	t.Parallel()
	const manual = "../../docs/commands.md"
	text, err := os.ReadFile(manual)
	if err != nil {
		t.Fatal(err)
	}
	do(t, server.DSN("postgres"), "create database app")
	_, dsn := startServe(t)
	cfg, err := pgx.ParseConfig(dsn)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	self, err := filepath.Abs(os.Args[0])
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(self, dir+"/mbusproxy"); err != nil {
		t.Fatal(err)
	}
	var env []string
	for _, kv := range os.Environ() {
		if !strings.HasPrefix(kv, "MBUS_") && !strings.HasPrefix(kv, "PG") {
			env = append(env, kv)
		}
	}
	env = append(env, asProgram+"=1", "PATH="+dir+":"+os.Getenv("PATH"), "PGHOST="+cfg.Host, fmt.Sprintf("PGPORT=%d", cfg.Port), "PGUSER=postgres", "PGDATABASE=app", "PGSSLMODE=disable", "PGTZ=UTC", "ADMIN="+server.DSN("app"))
	shown := map[string]bool{}
	made := consoleBlock.ReplaceAllStringFunc(string(text), func(block string) string {
		m := consoleBlock.FindStringSubmatch(block)
		var b strings.Builder
		for _, line := range strings.Split(m[2], "\n") {
			command, ok := strings.CutPrefix(line, "$ ")
			if !ok {
				continue
			}
			for _, run := range runs.FindAllStringSubmatch(command, -1) {
				shown[run[1]], shown[strings.Fields(run[1])[0]] = true, true
			}
			cmd := exec.CommandContext(t.Context(), "bash", "-c", command)
			cmd.Env, cmd.Dir = env, dir
			out, err := cmd.CombinedOutput()
			if err != nil && cmd.ProcessState == nil {
				t.Errorf("%s: %v", command, err)
			}
			printed := slowLines.ReplaceAllString(string(out), "")
			fmt.Fprintf(&b, "$ %s\n%s", command, shownTime.ReplaceAllString(shownIID.ReplaceAllString(printed, "$1<n>"), "<time>"))
		}
		if looseShape(b.String(), m[1] != "") == looseShape(m[2], m[1] != "") {
			return block
		}
		return m[1] + "```console\n" + b.String() + "```\n"
	})
	if *update {
		if err := os.WriteFile(manual, []byte(made), 0o644); err != nil {
			t.Fatal(err)
		}
	} else if made != string(text) {
		was, is := strings.Split(string(text), "\n"), strings.Split(made, "\n")
		for i := range is {
			if i >= len(was) || was[i] != is[i] {
				t.Errorf("docs/commands.md, line %d: the example prints\n%s", i+1, strings.Join(is[i:min(i+20, len(is))], "\n"))
				break
			}
		}
	}
	eachCommand(rootCommand(streams{}), func(c *cobra.Command) {
		name := strings.TrimPrefix(strings.TrimPrefix(c.CommandPath(), "mbusproxy"), " ")
		switch name {
		case "", "serve", "dev", "doctor": // which go on, or say what is wrong with a machine
			return
		case "completion zsh", "completion fish", "completion powershell": // as that for bash
			return
		}
		if !shown[name] {
			t.Errorf("docs/commands.md has no example of %s", name)
		}
	})
}

// looseShape is a text without what differs from run to run: how wide columns are, and, where that is said, numbers.
func looseShape(text string, numbers bool) string {
	if numbers {
		text = digits.ReplaceAllString(text, "N")
	}
	return gaps.ReplaceAllString(text, " ")
}
