package selector

import (
	"errors"
	"os"
	"slices"
	"strings"
	"testing"
)

const manual = "../docs/selectors.md"

// TestManual holds docs/selectors.md to what is so: the list of functions and the table of refusals. With -update it
// writes them.
func TestManual(t *testing.T) {
	t.Parallel()
	b, err := os.ReadFile(manual)
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	lines := strings.Split(string(b), "\n")
	refusals := 0
	for i := 0; i < len(lines); i++ {
		line := lines[i]
		if line == "<!-- functions -->" {
			out = append(out, line)
			for i+1 < len(lines) && (lines[i+1] == "" || strings.HasPrefix(lines[i+1], "|") || strings.HasPrefix(lines[i+1], "`") && strings.Contains(lines[i+1], "`, `")) {
				i++
			}
			out = append(out, functionTable()...)
			out = append(out, "")
			continue
		}
		if strings.HasPrefix(line, "| selector |") {
			out = append(out, line, lines[i+1])
			for i += 2; i < len(lines) && strings.HasPrefix(lines[i], "| `"); i++ {
				text, _, _ := strings.Cut(lines[i][len("| `"):], "` | ")
				out = append(out, refusalRow(t, strings.ReplaceAll(text, `\|`, "|")))
				refusals++
			}
			i--
			continue
		}
		out = append(out, line)
	}
	if refusals < 40 {
		t.Errorf("the table of refusals has %d rows", refusals)
	}
	got := strings.Join(out, "\n")
	if *update {
		if err := os.WriteFile(manual, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if got != string(b) {
		want := strings.Split(string(b), "\n")
		for i, line := range out {
			if i >= len(want) || line != want[i] {
				t.Errorf("docs/selectors.md differs in line %d; run: go test ./selector -run Manual -update, and look at the difference.\nis:        %s\nshould be: %s", i+1, want[min(i, len(want)-1)], line)
				break
			}
		}
	}
}

func refusalRow(t *testing.T, text string) string {
	t.Helper()
	_, err := Compile(text, testEnv)
	var refused *Error
	if !errors.As(err, &refused) {
		t.Errorf("%s is not refused: %v", text, err)
		return "| `" + text + "` |"
	}
	cell := func(s string) string { return strings.ReplaceAll(s, "|", `\|`) }
	return "| `" + cell(text) + "` | " + refused.Code + " " + cell(refused.Message) + " | " + cell(refused.Hint) + " |"
}

func functionTable() []string {
	out := []string{"| function | |", "|---|---|"}
	var names []string
	signatures := map[string]string{}
	for _, f := range functions {
		var args []string
		for i, a := range f.args {
			s := a.String()
			switch {
			case a == anyNumber:
				s = "number"
			case a == text|array && f.result == int4:
				s = "array"
			}
			if f.constant != nil && f.constant[i] {
				s += "*"
			}
			args = append(args, s)
		}
		result := f.result.String()
		if f.result == anyNumber {
			result = "number"
		}
		if f.hstore {
			result += ", of hstore"
		}
		s := "`" + f.name + "(" + strings.Join(args, ", ") + ")`"
		if !slices.Contains(names, result) {
			names = append(names, result)
		}
		if signatures[result] != "" {
			s = ", " + s
		}
		signatures[result] += s
	}
	for _, r := range names {
		out = append(out, "| "+signatures[r]+" | "+r+" |")
	}
	return out
}
