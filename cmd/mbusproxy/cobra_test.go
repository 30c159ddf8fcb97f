package main

import (
	"bytes"
	"errors"
	"flag"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/cobra/doc"
	"github.com/spf13/pflag"
)

var update = flag.Bool("update", false, "write the man pages anew")

// TestOneDash: flags may have one dash, as they could when package flag read them; what stands in a
// flag's place of a value is none.
func TestOneDash(t *testing.T) {
	t.Parallel()
	flags := pflag.NewFlagSet("test", pflag.ContinueOnError)
	flags.String("listen", "", "")
	flags.Bool("no-init", false, "")
	flags.BoolP("yes", "y", false, "")
	flags.IntP("limit", "n", 0, "")
	for given, want := range map[string]string{
		"-listen x":                   "--listen x",
		"-listen=x -no-init":          "--listen=x --no-init",
		"--listen -no-init -no-init":  "--listen -no-init --no-init",
		"-no-init -listen":            "--no-init --listen",
		"-no-init=false a -listen -x": "--no-init=false a --listen -x",
		"-unknown -listen x":          "--unknown --listen x",
		"-h -help":                    "-h --help",
		"-y -n -5 -n5":                "-y -n -5 --n5",
		"- -listen x":                 "- --listen x",
		"-- -listen x":                "-- -listen x",
		"":                            "",
	} {
		if got := strings.Join(twoDashes(flags, strings.Fields(given)), " "); got != want {
			t.Errorf("%s: %s, want %s", given, got, want)
		}
	}
	run1(t, nil, "healthcheck", "-listen", "127.0.0.1:1", "-timeout=2s").wantFailure(exitFailure, "the proxy does not serve clients", "log")
	run1(t, nil, "serve", "-lisen", "x").wantFailure(exitUsage, "unknown flag --lisen", "mbusproxy serve -h")
	run1(t, nil, "-listen", "x", "serve").wantFailure(exitUsage, `unknown command "-listen"`, "mbusproxy -h")
}

func TestCompletion(t *testing.T) {
	t.Parallel()
	for _, shell := range []string{"bash", "zsh", "fish", "powershell"} {
		p := run1(t, nil, "completion", shell)
		p.wantStatus(0)
		if !strings.Contains(p.out.String(), "mbusproxy") || p.log.String() != "" {
			t.Errorf("%s: %.200s %s", shell, p.out, p.log)
		}
	}
	for _, c := range []struct {
		words string
		want  []string
	}{
		{"hea", []string{"healthcheck"}},
		{"serve --tls", []string{"--tls-cert", "--tls-key", "--tls-required"}},
		{"serve --log-level ", []string{"debug", "info", "warn", "error"}},
		{"doctor --output ", []string{"text", "json"}},
	} {
		p := run1(t, nil, append([]string{"__complete"}, strings.Split(c.words, " ")...)...)
		p.wantStatus(0)
		var got []string
		for line := range strings.Lines(p.out.String()) {
			if word, _, _ := strings.Cut(strings.TrimSpace(line), "\t"); !strings.HasPrefix(word, ":") {
				got = append(got, word)
			}
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("%s: %q, want %q", c.words, got, c.want)
		}
	}
}

// eachCommand calls f for every command that users see.
func eachCommand(c *cobra.Command, f func(*cobra.Command)) {
	f(c)
	for _, below := range c.Commands() {
		if below.IsAvailableCommand() {
			eachCommand(below, f)
		}
	}
}

const manPages, completions = "../../packaging/man", "../../packaging/completions"

// TestManPages holds the pages that packages install to the commands: each has one, and nothing else has.
// `go test ./cmd/mbusproxy -run 'TestManPages|TestCompletionFiles' -update` writes them.
func TestManPages(t *testing.T) {
	root := rootCommand(streams{out: io.Discard, err: io.Discard})
	want := map[string][]byte{}
	eachCommand(root, func(c *cobra.Command) {
		var page bytes.Buffer
		if err := doc.GenMan(c, &doc.GenManHeader{Source: "mbusproxy", Manual: "mbusproxy", Date: &time.Time{}}, &page); err != nil {
			t.Fatal(err)
		}
		text := bytes.Replace(page.Bytes(), []byte(time.Time{}.Format("Jan 2006")), nil, 1) // a date would change without cause
		want[strings.ReplaceAll(c.CommandPath(), " ", "-")+".1"] = bytes.ReplaceAll(text, []byte(defaultData()), []byte("~/.local/share/mbusproxy"))
		if c.Short == "" || c.Long == "" {
			t.Errorf("%s has no help", c.CommandPath())
		}
	})
	wantFolder(t, manPages, want)
}

// TestCompletionFiles does the same for the scripts of shells.
func TestCompletionFiles(t *testing.T) {
	root := rootCommand(streams{out: io.Discard, err: io.Discard})
	var bash, zsh, fish bytes.Buffer
	if err := errors.Join(root.GenBashCompletionV2(&bash, true), root.GenZshCompletion(&zsh), root.GenFishCompletion(&fish, true)); err != nil {
		t.Fatal(err)
	}
	wantFolder(t, completions, map[string][]byte{"mbusproxy": bash.Bytes(), "_mbusproxy": zsh.Bytes(), "mbusproxy.fish": fish.Bytes()})
}

// wantFolder compares the files of a folder, or writes them.
func wantFolder(t *testing.T, folder string, want map[string][]byte) {
	t.Helper()
	if *update {
		if err := errors.Join(os.RemoveAll(folder), os.Mkdir(folder, 0o755)); err != nil {
			t.Fatal(err)
		}
		for name, text := range want {
			if err := os.WriteFile(filepath.Join(folder, name), text, 0o644); err != nil {
				t.Fatal(err)
			}
		}
	}
	found, err := filepath.Glob(folder + "/*")
	if err != nil || len(found) != len(want) {
		t.Errorf("%s has %d files, want %d (%v): run with -update", folder, len(found), len(want), err)
	}
	for name, text := range want {
		if got, err := os.ReadFile(filepath.Join(folder, name)); err != nil || !bytes.Equal(got, text) {
			t.Errorf("%s/%s is not what the commands say (%v): run with -update", folder, name, err)
		}
	}
}
