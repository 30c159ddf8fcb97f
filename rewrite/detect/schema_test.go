package detect

import (
	"strings"
	"testing"
)

func TestMentions(t *testing.T) {
	for text, want := range map[string]bool{
		"":                          false,
		"select 4":                  false,
		"mbus4":                     true,
		"select 4, 44 from MBus4.x": true,
		"bus4 m bus4 mbus 4 mbus":   false,
		"select 1 -- xmbus4x":       true,
		strings.Repeat("4", 1000):   false,
		"select '4' || \"mBUS4\".y": true,
	} {
		if got := Mentions([]byte(text)); got != want {
			t.Errorf("Mentions(%q) = %v", text, got)
		}
	}
}

func BenchmarkMentions(b *testing.B) {
	text := []byte("select abalance from pgbench_accounts where aid = 123454; select * from other where id in (4, 14, 24)")
	for b.Loop() {
		if Mentions(text) {
			b.Fatal("no mention")
		}
	}
}
