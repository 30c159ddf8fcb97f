package calls

import (
	"testing"

	"mbusproxy/sqlfuncs"
)

// BenchmarkFragment is what the SQL of a call costs a statement that the proxy has not seen.
func BenchmarkFragment(b *testing.B) {
	texts := New()
	for name, use := range map[string]sqlfuncs.Use{
		"post": {}, "consume": {}, "take": {}, "peek": {}, "dyn_consume": {Rows: true, Given: map[string]bool{"selector": true}},
	} {
		f := funcNamed(name)
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				texts.Fragment(f, use, names)
			}
		})
	}
}
