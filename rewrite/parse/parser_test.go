package parse

import (
	"strings"
	"testing"
)

func BenchmarkParse(b *testing.B) {
	p := New()
	text := "select mbus4.post('q', hstore('a', $1::text)), x from t where a = 1 and b in (1,2,3)"
	b.Run("here", func(b *testing.B) {
		for range b.N {
			p.Parse(b.Context(), text)
		}
	})
	long := "select 1" + strings.Repeat(",1", 60000)
	b.Run("long", func(b *testing.B) {
		for range b.N {
			p.Parse(b.Context(), long)
		}
	})
}
