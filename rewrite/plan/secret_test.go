package plan

import (
	"strings"
	"testing"

	"mbusproxy/rewrite/splice"
)

// A plan keeps the text that is sent where it is short; of a long one it would be one copy more until the server has
// answered.
func TestLongSentTextsAreNotKept(t *testing.T) {
	for _, long := range []bool{false, true} {
		var o splice.Output
		if o.WriteSecret(0); long {
			o.Write(strings.Repeat("x", longText), 0)
		}
		p := (&Plan{server: o.Text()}).For(testSecret)
		if sql := p.SQL(); !strings.HasPrefix(sql, testSecret) {
			t.Errorf("%.50q is sent", sql)
		}
		if made := testing.AllocsPerRun(1, func() { _ = p.SQL() }) > 0; made != long {
			t.Errorf("long: %t, made again: %t", long, made)
		}
	}
}
