package selector

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "write the golden files anew")

var testEnv = Env{HstoreSchema: "public", Major: 15}

// TestGolden runs the cases in testdata: comment lines, a selector, "----", and the condition that is made of it,
// or the refusal. Cases are separated by an empty line.
func TestGolden(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("testdata/*.sql")
	if err != nil || len(files) == 0 {
		t.Fatalf("no golden files: %v", err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".sql"), func(t *testing.T) {
			t.Parallel()
			b, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			var got strings.Builder
			for i, c := range strings.Split(strings.TrimRight(string(b), "\n"), "\n\n") {
				if i > 0 {
					got.WriteString("\n")
				}
				text, _, _ := strings.Cut(c, "\n----")
				comment := ""
				for strings.HasPrefix(text, "# ") {
					line, rest, _ := strings.Cut(text, "\n")
					comment, text = comment+line+"\n", rest
				}
				got.WriteString(comment + text + "\n----\n" + outcome(text) + "\n")
			}
			if *update {
				if err := os.WriteFile(file, []byte(got.String()), 0o644); err != nil {
					t.Fatal(err)
				}
				return
			}
			if got.String() != string(b) {
				t.Errorf("%s differs; run: go test ./selector -run Golden -update, and look at the difference.\ngot:\n%s", file, got.String())
			}
		})
	}
}

func outcome(text string) string {
	s, err := compile(text, testEnv)
	var refused *Error
	if errors.As(err, &refused) {
		hint := ""
		if refused.Hint != "" {
			hint = "\n  hint: " + refused.Hint
		}
		return fmt.Sprintf("error %s at %q: %s%s", refused.Code, text[refused.Offset:min(refused.Offset+12, len(text))], refused.Message, hint)
	}
	if err != nil {
		return "error " + err.Error()
	}
	out := s.Condition
	for _, term := range s.Simple {
		out += fmt.Sprintf("\nsimple %s %q = %q", term.Column, term.Key, term.Value)
	}
	return out
}
