package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

func TestHelpOfEachCommand(t *testing.T) {
	t.Parallel()
	for _, args := range [][]string{{"-h"}, {"--help"}, {"help"}, {"dev", "-h"}, {"serve", "-h"}, {"init", "--help"}, {"explain", "-h"}, {"healthcheck", "-h"}, {"version", "-h"}} {
		p := run1(t, nil, args...)
		p.wantStatus(0)
		if !strings.Contains(p.out.String(), "Usage: mbusproxy") || p.log.String() != "" {
			t.Errorf("%v: stdout %q, stderr %q", args, p.out, p.log)
		}
	}
	p := run1(t, nil)
	p.wantStatus(exitUsage)
	if !strings.Contains(p.log.String(), "serve") {
		t.Errorf("no command: %s", p.log)
	}
}

// TestHelpReadsWell: the help of each command is of one form, and no line is too long for a terminal.
func TestHelpReadsWell(t *testing.T) {
	t.Parallel()
	all := 0
	eachCommand(rootCommand(streams{}), func(c *cobra.Command) {
		all++
		words := strings.Fields(c.CommandPath())[1:]
		var out, log strings.Builder
		if status := run(append(slices.Clone(words), "-h"), streams{out: &out, err: &log}); status != 0 || log.Len() > 0 {
			t.Errorf("%s: status %d, %s", c.CommandPath(), status, &log)
		}
		help := out.String()
		if usage := strings.Join(append([]string{"Usage: mbusproxy"}, words...), " "); !strings.HasPrefix(help, usage) && len(words) > 0 {
			t.Errorf("%s does not begin with %q", help, usage)
		}
		for _, not := range []string{"[flags]", "[]", "help for", "m0s"} {
			if strings.Contains(help, not) {
				t.Errorf("%s: the help has %q", c.CommandPath(), not)
			}
		}
		flags := false
		for line := range strings.Lines(help) {
			flags = line != "\n" && (flags || strings.HasPrefix(line, "  -"))
			if flags && !strings.HasPrefix(line, "  -") && !strings.HasPrefix(line, "      ") {
				t.Errorf("%s: this line is not indented as the others: %s", c.CommandPath(), line)
			}
			if utf8.RuneCountInString(line) > helpWidth+1 {
				t.Errorf("%s: this line is too long: %s", c.CommandPath(), line)
			}
		}
		c.Flags().VisitAll(func(fl *pflag.Flag) {
			if strings.Contains(fl.Usage, "\n") || fl.NoOptDefVal == "" && !fl.Hidden && fl.Annotations[placeholder] == nil {
				t.Errorf("%s --%s: %q needs a name for its value, and no lines of its own", c.CommandPath(), fl.Name, fl.Usage)
			}
		})
	})
	if all < 20 {
		t.Errorf("%d commands", all)
	}
}

func TestDoctorCountsWhatFailed(t *testing.T) {
	t.Parallel()
	p := run1(t, nil, "doctor", "--upstream", "host=127.0.0.1 port=1", "--admin", "host=127.0.0.1 port=1", "--no-init", "--max-connections", "3")
	p.wantStatus(exitFailure)
	if !strings.Contains(p.out.String(), "failure  upstream ") || p.log.String() != "mbusproxy: 1 check failed, see above\n" {
		t.Errorf("%s%s", p.out, p.log)
	}
}

func TestWrap(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		text   string
		indent int
		want   string
	}{
		{"", 0, ""},
		{"one\ntwo", 2, "  one two"},
		{"one\n\n    source  <(two)\n\nthree\n", 0, "one\n\n    source  <(two)\n\nthree"},
		{strings.Repeat("x", helpWidth+1) + " y", 0, strings.Repeat("x", helpWidth+1) + "\ny"},
		{strings.Repeat("…… ", 40), 0, strings.TrimSpace(strings.Repeat("…… ", 33)) + "\n" + strings.TrimSpace(strings.Repeat("…… ", 7))},
	} {
		if got := wrap(c.text, c.indent); got != c.want {
			t.Errorf("%q: %q, want %q", c.text, got, c.want)
		}
	}
}

// newestRelease is the first heading with a version, below that of what is not released.
var newestRelease = regexp.MustCompile(`(?s)^# Changelog\n.*?\n## Unreleased\n.*?\n## (\d+\.\d+\.\d+) - \d{4}-\d\d-\d\d\n`)

func TestVersion(t *testing.T) {
	t.Parallel()
	for _, arg := range []string{"version", "--version"} {
		p := run1(t, nil, arg)
		p.wantStatus(0)
		if !strings.HasPrefix(p.out.String(), "mbusproxy "+strings.TrimSpace(release)+" (go1.") {
			t.Errorf("%s: %s", arg, p.out)
		}
	}
	var all []map[string]string
	p := run1(t, nil, "version", "--output", "json")
	if err := json.Unmarshal([]byte(p.out.String()), &all); err != nil || len(all) != 1 || all[0]["version"] != strings.TrimSpace(release) || all[0]["os"] != runtime.GOOS {
		t.Errorf("%v in %s", err, p.out)
	}
	p = run1(t, nil, "version", "--output", "csv")
	if got, want := p.out.String(), "version,go,os,arch\n"+strings.TrimSpace(release)+","; !strings.HasPrefix(got, want) {
		t.Errorf("%s", got)
	}
	run1(t, nil, "version", "--output", "table").wantFailure(2, "--output is text, json or csv, not table", "mbusproxy version -h")
	changes, err := os.ReadFile("../../CHANGELOG.md")
	if err != nil {
		t.Fatal(err)
	}
	if m := newestRelease.FindSubmatch(changes); m == nil || string(m[1]) != strings.TrimSpace(release) {
		t.Errorf("CHANGELOG.md is cut at %q, and the file VERSION has %s", m, release)
	}
}

func TestMisuse(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	file := func(name, text string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	base := []string{"serve", "--listen", "127.0.0.1:0", "--upstream", "host=x", "--admin", "host=x"}
	for _, c := range []struct {
		args           []string
		env            []string
		sentence, hint string
	}{
		{args: []string{"completion", "foosh"}, sentence: "completion needs one of bash, fish, powershell and zsh", hint: "mbusproxy completion -h"},
		{args: []string{"completion"}, sentence: "completion needs one of", hint: "mbusproxy completion -h"},
		{args: []string{"sevre"}, sentence: `unknown command "sevre"`, hint: "mbusproxy -h"},
		{args: []string{"serve", "--lisen", "x"}, sentence: "unknown flag --lisen", hint: "mbusproxy serve -h"},
		{args: []string{"dev", "--upstream", "x"}, sentence: "unknown flag --upstream", hint: "mbusproxy dev -h"},
		{args: []string{"dev", "here"}, sentence: `unexpected argument "here"`, hint: "mbusproxy dev -h"},
		{args: []string{"init"}, sentence: "init needs --admin", hint: "mbusproxy init -h"},
		{args: []string{"explain"}, sentence: "explain needs a statement", hint: "mbusproxy explain -h"},
		{args: []string{"explain", "select 1", "select 2"}, sentence: `unexpected argument "select 2"`, hint: "mbusproxy explain -h"},
		{args: []string{"explain", "select 1", "--unqualified", "nosuch"}, sentence: "nosuch", hint: "-h"},
		{args: []string{"serve"}, sentence: "serve needs --listen", hint: "mbusproxy serve -h"},
		{args: []string{"serve", "--listen"}, sentence: "the flag --listen needs a value", hint: "-h"},
		{args: []string{"serve", "--listen", "x:1"}, sentence: "MBUS_UPSTREAM", hint: "-h"},
		{args: append(base, "--max-connections", "many"), sentence: "--max-connections", hint: "-h"},
		{args: append(base, "--max-connections", "-1"), sentence: "negative", hint: "-h"},
		{args: append(base, "--startup-timeout", "0s"), sentence: "--startup-timeout", hint: "-h"},
		{args: append(base, "--drain-timeout", "-1s"), sentence: "--drain-timeout", hint: "-h"},
		{args: append(base, "--semaphore-interval", "0s"), sentence: "--semaphore-interval", hint: "-h"},
		{args: append(base, "--wait-sweep", "0s"), sentence: "--wait-sweep", hint: "-h"},
		{args: append(base, "--tcp-keepalive", "5ms"), sentence: "--tcp-keepalive", hint: "-h"},
		{args: append(base, "--tcp-user-timeout", "-1s"), sentence: "--tcp-user-timeout", hint: "-h"},
		{args: append(base, "--unqualified", "post,nosuch"), sentence: "nosuch", hint: "-h"},
		{args: []string{"dev", "--unqualified", "mbus4.post"}, sentence: "mbus4.post", hint: "-h"},
		{args: append(base, "--log-level", "loud"), sentence: "loud", hint: "-h"},
		{args: append(base, "--tls-cert", "x"), sentence: "--tls-cert and --tls-key must be given together", hint: "-h"},
		{args: append(base, "--tls-required"), sentence: "--tls-required needs", hint: "-h"},
		{args: []string{"healthcheck"}, sentence: "healthcheck needs --listen", hint: "mbusproxy healthcheck -h"},
		{args: []string{"healthcheck", "--http", "x:1", "--timeout", "0s"}, sentence: "--timeout must be positive", hint: "-h"},
		{args: base, env: []string{"MBUS_MAX_CONNECTIONS=lots"}, sentence: `"lots" in the environment variable MBUS_MAX_CONNECTIONS`, hint: "-h"},
		{args: append(base, "--config", dir+"/none"), sentence: "no such file", hint: "--config"},
		{args: append(base, "--config", file("word", "\nlisten\n")), sentence: "line 2 is not of the form", hint: "listen ="},
		{args: append(base, "--config", file("key", "color = red")), sentence: `unknown setting "color"`, hint: "-h"},
		{args: append(base, "--config", file("value", "max-connections = red")), sentence: `invalid value "red"`, hint: "-h"},
	} {
		run1(t, c.env, c.args...).wantFailure(exitUsage, c.sentence, c.hint)
	}
}

func TestWhichSourceWins(t *testing.T) {
	path := filepath.Join(t.TempDir(), "conf")
	text := "# a comment\n\none = file\ntwo = file\nthree = 'file'\nlist = a, b\nlist = c\nswitch = true\ntime = 5s\n"
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Setenv("MBUS_ONE", "env")
	t.Setenv("MBUS_TWO", "env")
	t.Setenv("MBUS_CONFIG", path)
	f := newFlagSet("test", "test", "")
	one, two, three, four := f.String("one", "d", ""), f.String("two", "d", ""), f.String("three", "d", ""), f.String("four", "d", "")
	on, wait := f.Bool("switch", false, ""), f.Duration("time", 0, "")
	var l list
	f.Var(&l, "list", "")
	f.withConfig()
	if err := f.parse([]string{"--one", "flag"}); err != nil {
		t.Fatal(err)
	}
	if got := strings.Join([]string{*one, *two, *three, *four, l.String()}, " "); got != "flag env file d a,b,c" {
		t.Errorf("got %s", got)
	}
	if !*on || *wait != 5*time.Second {
		t.Errorf("switch %v, time %v", *on, *wait)
	}
}
