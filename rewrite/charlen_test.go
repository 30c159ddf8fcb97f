package rewrite

import (
	"strings"
	"testing"

	"mbusproxy/rewrite/lex"
	"mbusproxy/rewrite/plan"
)

// Characters are as long as the server's wchar.c says, and none hides the quote behind it.
func TestCharLen(t *testing.T) {
	t.Parallel()
	for encoding, chars := range map[string][]string{
		"UTF8":          {"a", "é", "漢", "😀"},
		"LATIN1":        {"a", "\xe9", "\x8e"},
		"SQL_ASCII":     {"a", "\xe9", "\xff"},
		"SJIS":          {"a", "\x95\x5c", "\xb1", "\xdf", "\xe0\x40"},
		"EUC_JP":        {"a", "\xb4\xc1", "\x8e\xb1", "\x8f\xb0\xa1"},
		"EUC_KR":        {"a", "\xc7\xd1"},
		"EUC_CN":        {"a", "\xba\xba"},
		"EUC_TW":        {"a", "\xc4\xa1", "\x8e\xa2\xa1\xa1"},
		"BIG5":          {"a", "\xa5\x5c"},
		"GBK":           {"a", "\x81\x5c"},
		"UHC":           {"a", "\x81\x41"},
		"GB18030":       {"a", "\x81\x5c", "\x81\x39\xee\x39", "\x94\x39\xfc\x36"},
		"JOHAB":         {"a", "\xf9\xd3"},
		"MULE_INTERNAL": {"a", "\x81\xe9", "\x92\xb4\xc1", "\x9a\xa0\xa1", "\x9c\xf0\xa1\xa1"},
	} {
		k := lex.EncodingOf(encoding)
		for _, c := range chars {
			for _, behind := range []string{"", "'", "\\", "\xa1\xa1\xa1"} {
				if got := k.CharLen(c + behind); got != len(c) {
					t.Errorf("%s: %q is %d bytes long", encoding, c+behind, got)
				}
			}
			sql := "select '" + c + "', mbus4.post('q', '" + c + "=>1'), \"" + c + "\", wrong"
			p := newRewriter(shortFragments{}).Rewrite(t.Context(), sql, plan.Session{Encoding: encoding}, testEnv)
			if p == nil {
				t.Errorf("%s: %q is not rewritten", encoding, sql)
				continue
			}
			r := &plan.Report{Code: "42703", Position: k.CharPosition(p.SQL(), strings.LastIndex(p.SQL(), "wrong"))}
			want := len("select 'c', mbus4.post('q', 'c=>1'), \"c\", ") + 1
			if p.EditReport(r); r.Position != want {
				t.Errorf("%s: %q: position %d, want %d", encoding, sql, r.Position, want)
			}
		}
	}
}
