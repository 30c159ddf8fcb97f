package pipeline

import (
	"slices"
	"strings"
	"testing"
)

// TestWordsAcrossPieces: a word is found wherever the text is cut.
func TestWordsAcrossPieces(t *testing.T) {
	text := []byte(strings.Repeat("x ", 30) + "DeAllocate " + strings.Repeat("y ", 30))
	for piece := 1; piece < len(text); piece++ {
		var u unread
		for part := range slices.Chunk(text, piece) {
			u.Saw(part)
		}
		if !u.acts {
			t.Errorf("not found in pieces of %d", piece)
		}
	}
}
