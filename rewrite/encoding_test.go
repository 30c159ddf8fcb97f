package rewrite

import (
	"strings"
	"testing"

	"mbusproxy/rewrite/lex"
	"mbusproxy/rewrite/plan"
)

func TestEncodings(t *testing.T) {
	// 表 is 0x95 0x5c in Shift JIS: its second byte is a backslash.
	sjis := "select 'x\x95\x5c', E'\x95\x5c', mbus4.post('q', '\x95\x5c=>1') from wrong"
	latin1 := "select 'caf\xe9', mbus4.post('q', '\xe9=>1') from wrong"
	for _, c := range []struct {
		encoding, sql string
		chars         int // of the text up to "wrong"
	}{
		{"SJIS", sjis, strings.Index(sjis, "wrong") - 3},
		{"LATIN1", latin1, strings.Index(latin1, "wrong")},
		{"SQL_ASCII", latin1, strings.Index(latin1, "wrong")},
	} {
		p := newRewriter(shortFragments{}).Rewrite(t.Context(), c.sql, plan.Session{Encoding: c.encoding}, testEnv)
		if p == nil || len(p.Refused()) > 0 {
			t.Errorf("%s: not rewritten", c.encoding)
			continue
		}
		out := strings.Index(p.SQL(), "wrong")
		k := lex.EncodingOf(c.encoding)
		r := &plan.Report{Code: "42P01", Position: k.CharPosition(p.SQL(), out)}
		if p.EditReport(r); r.Position != c.chars+1 {
			t.Errorf("%s: position %d, want %d", c.encoding, r.Position, c.chars+1)
		}
		if strings.Contains(p.SQL(), "zz") {
			t.Errorf("%s: the parser's substitute got into %q", c.encoding, p.SQL())
		}
	}
}

// TestCacheReadsTheEncoding checks that half a character is not taken for a backslash where texts are
// compared without their literals: then code would pass for a literal.
func TestCacheReadsTheEncoding(t *testing.T) {
	r := newRewriter(shortFragments{})
	session := plan.Session{Encoding: "SJIS"}
	const called = "select E'\x95\x5c', 'a', mbus4.post('q', '') -- '"
	const not = "select E'\x95\x5c', 'a', left('q', '') -- '"
	if p := r.Rewrite(t.Context(), called, session, testEnv); p == nil {
		t.Fatal("a call is not seen")
	}
	if p := r.Rewrite(t.Context(), not, session, testEnv); p != nil {
		t.Errorf("a text without a call becomes %q", p.SQL())
	}
}

func BenchmarkRewrite(b *testing.B) {
	const sql = "select * from mbus4.consume($1)"
	b.Run("cached", func(b *testing.B) {
		r := newRewriter(shortFragments{})
		for b.Loop() {
			r.Rewrite(b.Context(), sql, utf8Session, testEnv)
		}
	})
	b.Run("other literals", func(b *testing.B) {
		r := newRewriter(shortFragments{})
		texts := [2]string{"select * from mbus4.post('q', 'a=>1')", "select * from mbus4.post('other', 'a=>222')"}
		for i := 0; b.Loop(); i++ {
			r.Rewrite(b.Context(), texts[i%2], utf8Session, testEnv)
		}
	})
	b.Run("new", func(b *testing.B) {
		r := newRewriter(shortFragments{})
		for b.Loop() {
			doc, err := r.read(b.Context(), sql, utf8Session)
			if err != nil {
				b.Fatal(err)
			}
			doc.Rewrite(b.Context(), plan.Env{}, r.fragments)
			doc.Release()
		}
	})
}
