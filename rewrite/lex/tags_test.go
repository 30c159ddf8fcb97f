package lex

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

// A comment with tags is cut only where it is one to the server, at the end of the text.
func TestCutTags(t *testing.T) {
	t.Parallel()
	const tags = "traceparent='00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01'"
	long := "a='" + strings.Repeat("x", maxTags) + "'"
	for _, c := range []struct{ text, body, tags string }{
		{"select 1 /*" + tags + "*/", "select 1", tags},
		{"select 1/*" + tags + "*/;", "select 1", tags},
		{"select 1; /* " + tags + " */ \n;", "select 1;", tags},
		{"select 1 /*a='b',c='%2F',d=''*/", "select 1", "a='b',c='%2F',d=''"},
		{"select 1 /*a='b', c='d'*/", "select 1", "a='b', c='d'"},
		{"select 1 /*a='it\\'s'*/", "select 1", "a='it\\'s'"},
		{"/*x='y'*/ select 1 /*a='b'*/", "/*x='y'*/ select 1", "a='b'"},
		{"select $$x$$ /*a='b'*/", "select $$x$$", "a='b'"},
		{"select 1 + /*a='b'*/", "select 1 +", "a='b'"},
		{"/*a='b'*/", "", "a='b'"},
		// What is no comment of the text's, or not of tags, stays.
		{text: "select 1"},
		{text: ""},
		{text: "*/"},
		{text: "/*/"},
		{text: "select 1 /* a comment */"},
		{text: "select 1 /**/"},
		{text: "select 1 /*a='b'*/ x"},
		{text: "select 1 /*a='b'"},
		{text: "select '/*a=''b''*/'"},
		{text: "select '/*a='b'*/"},
		{text: "select \"/*a='b'*/"},
		{text: "select $$ /*a='b'*/"},
		{text: "select 1 -- /*a='b'*/"},
		{text: "select 1 /* /*a='b'*/"},
		{text: "select 1 /* x /*a='b'*/ */"},
		{text: "select 1 /*a='b'*/ -- x"},
		{text: "select 1 /*a='b*'*/"},
		{text: "select 1 /*a='b\\'*/"},
		{text: "select 1 /*a=b*/"},
		{text: "select 1 /*+ hint */"},
		{text: "select 1 /*a='b',*/"},
		{text: "select 1 /*a='é'*/"},
		{text: "select 1 /*" + long + "*/"},
		{text: "select 1 /*" + strings.Repeat("a='b',", maxTagCount) + "a='b'*/"},
	} {
		want := c.body
		if c.tags == "" {
			want = c.text
		}
		if body, tags := CutTags(c.text, EncodingOf("UTF8"), false); body != want || string(tags) != c.tags {
			t.Errorf("%s: got %q and %q, want %q and %q", c.text, body, tags, want, c.tags)
		}
	}
	// Where a backslash escapes, the string goes on.
	text := `select '\' /*a='b'*/`
	if body, _ := CutTags(text, EncodingOf("UTF8"), true); body != text {
		t.Errorf("cut %q", body)
	}
	if _, tags := CutTags(text, EncodingOf("UTF8"), false); tags != "a='b'" {
		t.Errorf("got %q", tags)
	}
}

func TestTags(t *testing.T) {
	t.Parallel()
	tags := Tags(`a='b',route='%2Forders%2F%3Fx%3D1',q='it\'s',bad='%zz',cut='%4',plus='a+b',%6b='v',%zz='x', Two='1',two='2',two='%zz',empty=''`)
	var got []string
	for key, value := range tags.All() {
		got = append(got, key+":"+value)
	}
	want := []string{"a:b", "route:/orders/?x=1", "q:it's", "plus:a+b", "k:v", "Two:1", "two:2", "empty:"}
	if !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
	for range tags.All() { // one may stop before the end
		break
	}
}

// Whatever is cut was a comment: the tokens of the text are the same without it, but for semicolons at its end.
func FuzzCutTags(f *testing.F) {
	for _, seed := range []string{
		"select 1 /*a='b'*/", "select '/*a=''b''*/'", "select $$ /*a='b'*/ $$ /*c='d'*/;", "select 1 -- /*a='b'*/", "/* /*a='b'*/", "E'\\' /*a='b'*/", "U&'x' /*a='b'*/",
	} {
		f.Add(seed, false)
		f.Add(seed, true)
	}
	f.Fuzz(func(t *testing.T, text string, escapes bool) {
		for _, name := range []string{"UTF8", "SJIS", "GB18030"} {
			enc := EncodingOf(name)
			body, tags := CutTags(text, enc, escapes)
			if tags == "" {
				if body != text {
					t.Fatalf("%q has become %q", text, body)
				}
				continue
			}
			if whole, cut := tokensOf(text, enc, escapes), tokensOf(body, enc, escapes); whole != cut {
				t.Fatalf("%q and %q have the tokens %s and %s", text, body, whole, cut)
			}
			for key, value := range tags.All() {
				if key == "" || len(key)+len(value) > len(tags) {
					t.Fatalf("%q has %q with the value %q", tags, key, value)
				}
			}
		}
	})
}

// tokensOf shows the tokens of a text, without semicolons at its end.
func tokensOf(text string, enc Encoding, escapes bool) string {
	var b strings.Builder
	l := Lexer{Text: enc.Parseable(text), Escapes: escapes}
	for tok := l.Next(); tok.Kind != End; tok = l.Next() {
		fmt.Fprintf(&b, "%d:%q ", tok.Kind, text[tok.Start:tok.End])
		if tok.Kind == Open {
			break
		}
	}
	out := b.String()
	for semicolon := fmt.Sprintf("%d:%q ", Symbol, ";"); strings.HasSuffix(out, semicolon); {
		out = strings.TrimSuffix(out, semicolon)
	}
	return out
}
