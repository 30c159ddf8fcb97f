package sqlfuncs

import (
	"strings"
	"testing"
)

func TestFold(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]string{
		"":              "",
		"Q_1az":         "q_1az",
		"\u212A\u0130Ф": "\u212A\u0130Ф",
		"A\xc4\xffB":    "a\xc4\xffb",
	} {
		if got := Fold(name); got != want {
			t.Errorf("%q gives %q, want %q", name, got, want)
		}
	}
}

func TestCutIdent(t *testing.T) {
	t.Parallel()
	x := strings.Repeat("x", 60)
	for name, want := range map[string]string{
		x + "abc":  x + "abc",
		x + "abcd": x + "abc",
		x + "abФ":  x + "ab",
		x + "aФb":  x + "aФ",
	} {
		if got := CutIdent(name); got != want || !IsCut(got) {
			t.Errorf("%q gives %q, want %q", name, got, want)
		}
	}
	if IsCut("consume_q_by_default") {
		t.Error("a short name is cut off")
	}
}
