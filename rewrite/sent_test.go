package rewrite

import (
	"fmt"
	"reflect"
	"runtime"
	"strings"
	"testing"

	"mbusproxy/rewrite/lex"
	"mbusproxy/rewrite/plan"
)

// TestSent: what is kept of a plan until the server has answered edits reports about any place as the plan does, knows the
// same addresses, and has no text; what is sent is the plan's text.
func TestSent(t *testing.T) {
	latin := plan.Session{Encoding: "LATIN1", EscapeStrings: true}
	for _, c := range []struct {
		session plan.Session
		sql     string // ~ stands for much
	}{
		{utf8Session, "select '~', mbus4.post('q', hstore('ключ', wrong)), nosuch"},
		{utf8Session, "select 'Ünï~', mbus4.post('q', 'a=>1', hstore('☃', wrong)), 'é'"},
		{utf8Session, "select mbus4.post('q', 'a=>1', nosuch=>1), '~', mbus4.nosuch('☃')"},
		{utf8Session, "select 1; select mbus4.consume('~'); select wrong, '☃~'"},
		{utf8Session, "with a as (select wrong) select mbus4.post('q', hstore(a)), mbus4.peek('é'), '~' from a"},
		{latin, "select '~\xe9', mbus4.peek('q'), wrong"},
		{plan.Session{Encoding: "SJIS"}, "select '\x83\x5c~', mbus4.peek('q'), wrong"},
	} {
		for _, much := range []string{strings.Repeat("x", 70_000), strings.Repeat("x~", 30_000)} {
			sql := strings.ReplaceAll(c.sql, "~", much)
			if lex.EncodingOf(c.session.Encoding) == lex.UTF8 {
				sql = strings.ReplaceAll(sql, "~", "☃")
			}
			r := newRewriter(shortFragments{})
			for range 2 { // made, and transferred
				p := r.Rewrite(t.Context(), sql, c.session, testEnv).For(testSecret)
				text, sent := string(p.AppendSQL([]byte("before "))), p.Sent()
				if text != "before "+p.SQL() {
					t.Errorf("%.60q: what is sent is not the text", sql)
				}
				if sent.Size() > 10_000 || sent.ClientText() != "" {
					t.Errorf("%.60q: %d bytes are kept", sql, sent.Size())
				}
				if fmt.Sprint(sent.Addresses()) != fmt.Sprint(p.Addresses()) || sent.Label() != p.Label() {
					t.Errorf("%.60q: calls %q, were %q", sql, sent.Label(), p.Label())
				}
				for _, about := range []plan.Report{
					{Code: "42703", Message: "wrong"},
					{Code: "42846", Message: "wrong"},
					{Code: "42501", Message: "message"},
					{Code: "2D000"},
					{Code: "23505", Message: "message_iid", Detail: "(queue, iid)=(1, x)"},
					{Code: "22P02", Message: "mbus4-error 1 " + testSecret + " 42704 queue q"},
					{Code: "22P02", Message: "mbus4-refused 0 " + testSecret},
				} {
					for at := 0; at < len(text)+100; at += 7919 + at%13 {
						want, got := about, about
						want.Position, got.Position = at, at
						if ok := p.EditReport(&want); ok != sent.EditReport(&got) || !reflect.DeepEqual(got, want) {
							t.Fatalf("%.60q: of %+v at %d is made %+v, want %+v", sql, about, at, got, want)
						}
					}
				}
			}
		}
	}
}

// TestShortPlansAreSentAsTheyAre: there is nothing to be gained.
func TestShortPlansAreSentAsTheyAre(t *testing.T) {
	p := newRewriter(shortFragments{}).Rewrite(t.Context(), "select mbus4.peek('q')", utf8Session, testEnv)
	if p.Sent() != p {
		t.Error("it is another one")
	}
}

// TestLongTextsAreForgotten: of long texts with short skeletons nothing long is kept.
func TestLongTextsAreForgotten(t *testing.T) {
	const size, texts = 4 << 20, 30
	r := newRewriter(shortFragments{})
	heap := func() int {
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return int(m.HeapAlloc)
	}
	before := heap()
	for i := range texts {
		sql := fmt.Sprintf("select mbus4.peek('q') as a%d, '%s'", i, strings.Repeat("x", size))
		if p := r.Rewrite(t.Context(), sql, utf8Session, testEnv); p == nil || len(p.Refused()) > 0 {
			t.Fatal("it is not rewritten")
		}
	}
	if kept := heap() - before; kept > 2*size {
		t.Errorf("%d bytes are kept of %d texts of %d", kept, texts, size)
	}
	runtime.KeepAlive(r)
}
