package splice

import (
	"runtime"
	"strings"
	"testing"

	"mbusproxy/rewrite/lex"
)

// Texts with long literals are copied once for each text that is made of them: many sessions may have one at a time.
func TestLongTextsAreCopiedOnce(t *testing.T) {
	const size = 4 << 20
	client := "select ''"
	skeleton, from := lex.Skeleton(client, lex.EncodingOf("UTF8"), false)
	long := "select '" + strings.Repeat("x", size) + "'"
	other, to := lex.Skeleton(long, lex.EncodingOf("UTF8"), false)
	if skeleton != other {
		t.Fatalf("%q and %.100q", skeleton, other)
	}
	var o Output
	o.Take(Copied(client), 0, 1)
	ours := strings.Repeat(" ", 32<<10) + ", '"
	o.Write(ours, len(client))
	o.WriteSecret(len(client))
	o.Write("'", len(client))

	var moved Text
	if n := copies(size, func() { moved = o.Text().Transfer(long, lex.Mover{From: from, To: to}) }); n > 1.1 {
		t.Errorf("the text for the server is copied %.1f times", n)
	}
	if want := long + ours + BlankSecret + "'"; moved.SQL != want {
		t.Errorf("Transfer gives %d bytes, want %d", len(moved.SQL), len(want))
	}
	var sent string
	if n := copies(size, func() { sent = moved.Filled("ABCDEFGHIJKLMNOP", "") }); n > 1.1 {
		t.Errorf("what is sent is copied %.1f times", n)
	}
	if want := long + ours + "ABCDEFGHIJKLMNOP'"; sent != want {
		t.Errorf("Filled gives %d bytes, want %d", len(sent), len(want))
	}
	if n := copies(size, func() { moved.Transfer(client, lex.Mover{From: to, To: from}) }); n > 0.1 {
		t.Errorf("for a short text a long one is copied %.1f times", n)
	}
}

// copies returns how much f allocates, in texts of size bytes.
func copies(size int, f func()) float64 {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	f()
	runtime.ReadMemStats(&after)
	return float64(after.TotalAlloc-before.TotalAlloc) / float64(size)
}
