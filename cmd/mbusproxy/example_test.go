package main

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/spf13/pflag"

	"mbusproxy/internal/app"
)

// exampleSetting is a line of the example that is a setting, or would be if it were not commented out.
var exampleSetting = regexp.MustCompile(`(?m)^(#?)([a-z][a-z-]*) = (.*)$`)

// TestExampleConfiguration holds the file that packages install to the flags of serve: each is
// there once, with its default where it has one, and all of them together make sense.
func TestExampleConfiguration(t *testing.T) {
	text, err := os.ReadFile("../../packaging/mbusproxy.conf")
	if err != nil {
		t.Fatal(err)
	}
	flags := serveFlags(&app.Config{})
	seen := map[string]bool{"config": true}
	for _, m := range exampleSetting.FindAllSubmatch(text, -1) {
		key, value := string(m[2]), string(m[3])
		fl := flags.Lookup(key)
		if fl == nil || seen[key] {
			t.Errorf("%s: no such flag, or twice", key)
			continue
		}
		seen[key] = true
		if set := string(m[1]) == ""; set != (key == "listen") {
			t.Errorf("%s: listen alone can be set for everybody", key)
		}
		standard := fl.DefValue
		if err := fl.Value.Set(value); err != nil {
			t.Errorf("%s = %s: %v", key, value, err)
		} else if got := fl.Value.String(); standard != "" && got != standard {
			t.Errorf("%s is commented out with %s, and the default is %s", key, got, standard)
		}
	}
	flags.VisitAll(func(fl *pflag.Flag) {
		if !seen[fl.Name] {
			t.Errorf("%s is not in the example", fl.Name)
		}
	})
	all := filepath.Join(t.TempDir(), "conf")
	if err := os.WriteFile(all, exampleSetting.ReplaceAll(text, []byte("$2 = $3")), 0o600); err != nil {
		t.Fatal(err)
	}
	var cfg app.Config
	if err := parseServe([]string{"--config", all}, &cfg); err != nil {
		t.Error(err)
	}
	if err := parseServe([]string{"--config", "../../packaging/mbusproxy.conf"}, &app.Config{}); err == nil || !strings.Contains(err.Error(), "needs --upstream") {
		t.Errorf("as installed: %v", err)
	}
}
