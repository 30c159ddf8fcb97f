package web

import (
	"bytes"
	"strings"
	"testing"
)

func TestVisible(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"plain ä 日本 🙂":          "plain ä 日本 🙂",
		"a\x00b\x1b[31m\x7f":    "a␀b␛[31m␡",
		"line\nand\ttab":        "line\nand\ttab",
		"\u202eabc\u2066\u200b": "⟨U+202E⟩abc⟨U+2066⟩⟨U+200B⟩",
		"a\u00a0b\u2028":        "a⟨U+00A0⟩b⟨U+2028⟩",
		"\xff\xfe":              "⟨FF⟩⟨FE⟩",
		"\ufeffx\u3164":         "⟨U+FEFF⟩x⟨U+3164⟩",
		"\U000e0041":            "⟨U+E0041⟩",
	} {
		if got := visible(in, 100); got != want {
			t.Errorf("%q is shown as %q, not %q", in, got, want)
		}
	}
	if got := Text(strings.Repeat("x", 5000)).Short(); len(got) > 200 || !strings.Contains(got, "4880 more bytes") {
		t.Errorf("a long one is %q", got)
	}
}

// What is drawn in a box has so many characters at most, whatever it is made of.
func TestCut(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{"short": "short", "ten bytes!": "ten bytes!", "eleven byte": "eleven by…", "a\nb\tc": "a␊b␉c", strings.Repeat("\u202e", 500): "⟨U+202E⟩⟨…", strings.Repeat("日", 11): "日日日日日日日日日…"} {
		if got := cut(in, 10); got != want {
			t.Errorf("%q is cut to %q, not %q", in, got, want)
		}
	}
}

// The script is ours, small, and the only one; nothing in a page is inline, which the policy forbids.
func TestScript(t *testing.T) {
	t.Parallel()
	entries, err := files.ReadDir("static")
	if err != nil {
		t.Fatal(err)
	}
	lines := 0
	for _, e := range entries {
		content, err := files.ReadFile("static/" + e.Name())
		if err != nil {
			t.Fatal(err)
		}
		if strings.HasSuffix(e.Name(), ".js") {
			lines += bytes.Count(content, []byte("\n"))
		}
		if bytes.Contains(content, []byte("http://")) && e.Name() != "icon.svg" || bytes.Contains(content, []byte("https://")) || bytes.Contains(content, []byte("@import")) {
			t.Errorf("%s leads elsewhere", e.Name())
		}
	}
	if lines == 0 || lines > 200 {
		t.Errorf("the scripts have %d lines", lines)
	}
	sheets, err := files.ReadDir("templates")
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range sheets {
		content, err := files.ReadFile("templates/" + e.Name())
		if err != nil {
			t.Fatal(err)
		}
		for _, bad := range []string{"<style", " style=", " onclick", " onload", "javascript:", "http://", "https://", "target="} {
			if bytes.Contains(content, []byte(bad)) {
				t.Errorf("%s has %q", e.Name(), bad)
			}
		}
	}
}

func TestWords(t *testing.T) {
	t.Parallel()
	for got, want := range map[string]string{
		link("queue", "name", Text("a&b=c")): "/page/queue?name=a%26b%3Dc", link("messages", "queue", Text("")): "/page/messages",
	} {
		if got != want {
			t.Errorf("%q, not %q", got, want)
		}
	}
	for to, want := range map[string]string{"/page/queue?name=x": "/page/queue?name=x", "": Path, "/metrics": Path, "//x": Path, "/page/logout": Path, "/page/\\x": Path} {
		if got := next(to); got != want {
			t.Errorf("next %q is %q", to, got)
		}
	}
}

func TestFetchedInVain(t *testing.T) {
	t.Parallel()
	plan := `[{"Plan": {"Node Type": "Limit", "Actual Rows": 1, "Plans": [{"Node Type": "Index Only Scan", "Actual Rows": 1, "Actual Loops": 1, "Heap Fetches": 1001}]}}]`
	if n, err := fetchedInVain(plan); n != 1000 || err != nil {
		t.Errorf("%d, %v", n, err)
	}
	if _, err := fetchedInVain("{}"); err == nil {
		t.Error("no plan is taken for one")
	}
}
