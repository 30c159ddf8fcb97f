package rewrite

import (
	stdcontext "context"
	"errors"
	"strings"
	"testing"

	"mbusproxy/rewrite/detect"
	"mbusproxy/rewrite/parse"
	"mbusproxy/rewrite/place"
)

// What is refused because it is too much for the parser, and what is not.
func TestBounds(t *testing.T) {
	deep := strings.Repeat("+1", 25000)
	u, err := detect.NewUnqualified([]string{"post"})
	if err != nil {
		t.Fatal(err)
	}
	r := New(shortFragments{}, u, parse.New())
	for _, c := range []struct {
		name, text, code string // code "-": forwarded, "": rewritten
	}{
		{"comment", "select /* mbus4.post('q', '') */ 1" + deep, "-"},
		{"string", "select 'mbus4.post()', $$mbus4.post()$$, E'\\'mbus4.post()', 1" + deep, "-"},
		{"name", `select "mbus4.post"(), mbus4.post, "MBUS4".post(), 1` + deep, "-"},
		{"table", "insert into mbus4.work_queue (payload) select 1" + deep, "-"},
		{"open string", "select mbus4.post('q', '', 1" + deep + "'", "-"},
		{"call", "select mbus4.post('q', ''), 1" + deep, "54001"},
		{"call in pieces", "select \"mbus4\" /* ( */ . -- '\n POST\n (), 1" + deep, "54001"},
		{"escaped name", `select /* mbus4 */ U&"\006dbus4".post(), 1` + deep, "54001"},
		{"name with an escape of its own", `select /* mbus4 */ U&"!006dbus4" uescape '!'.post(), 1` + deep, "54001"},
		{"without the schema", "select post('q', ''), 1" + deep, "54001"},
		{"behind a string over two lines", "select E'a'\n'\\'', mbus4.post('q', '') -- '\n, 1" + deep, "54001"},
		{"protobuf's own bound", "select mbus4.post('q', ''), 1" + strings.Repeat(" isnull", 3900), ""},
		{"nested calls", "select " + strings.Repeat("mbus4.peek(", place.MaxNesting+1) + "'x'" + strings.Repeat(")", place.MaxNesting+1), ""},
		{"too many nested calls", "select " + strings.Repeat("mbus4.peek(", place.MaxNesting+2) + "'x'" + strings.Repeat(")", place.MaxNesting+2), "54001"},
		{"nested calls in subqueries", "select " + strings.Repeat("mbus4.peek((select b from (select ", 400) + "'x'" + strings.Repeat(" as b) a))", 400), "54001"},
		{"calls beside each other in a call", "select mbus4.post('q', concat('a'" + strings.Repeat(", mbus4.peek('x')", 100) + "))", ""},
		{"long", "select mbus4.post('q', '')" + strings.Repeat(",1", parse.MaxTokens), "54000"},
		{"calls", "select 1" + strings.Repeat(", mbus4.peek_q()", 4000), "54000"},
		{"rows", "insert into t select mbus4.post('q', '') from (values (1, 'a', null)" + strings.Repeat(", (1, 'a', null)", 10000) + ") v", ""},
		{"IN", "select mbus4.post('q', '') where a in (1" + strings.Repeat(",1", 20000) + ")", ""},
		{"columns", "select mbus4.post('q', '')" + strings.Repeat(", t.a + 1 as b", 1000) + " from t", ""},
		{"some calls", "select 1" + strings.Repeat(", mbus4.post('q', 'a=>1')", 200), ""},
	} {
		p := r.Rewrite(t.Context(), c.text, utf8Session, testEnv)
		got := "-"
		if p != nil {
			if got = ""; len(p.Refused()) > 0 {
				got = p.Refused()[0].Code
			}
		}
		if got != c.code {
			t.Errorf("%s: got %q, want %q", c.name, got, c.code)
		}
	}
	ended, cancel := stdcontext.WithCancel(t.Context())
	cancel()
	if p := r.Rewrite(ended, "select mbus4.post('q', '')", utf8Session, testEnv); p == nil || p.Refused()[0].Code != "57P01" {
		t.Errorf("got %v", p)
	}
	if r := parserRefusal(errors.New("no thread")); r.Code != "53000" || r.Message != "the statement cannot be parsed now" || r.Hint == "" {
		t.Errorf("got %+v", r)
	}
}

// A text that is known is neither parsed nor does it wait.
func TestKnownTextsDoNotWait(t *testing.T) {
	r := newRewriter(shortFragments{})
	if r.Rewrite(t.Context(), "select mbus4.post('q', '1')", utf8Session, testEnv) == nil {
		t.Fatal("not rewritten")
	}
	ended, cancel := stdcontext.WithCancel(t.Context())
	cancel()
	if p := r.Rewrite(ended, "select mbus4.post('q', '2')", utf8Session, testEnv); p == nil || len(p.Refused()) > 0 {
		t.Error("a known text waits for the parser")
	}
}
