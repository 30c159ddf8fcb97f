package pipeline

import (
	"slices"
	"strings"
	"testing"

	"mbusproxy/proxy/statements"
)

// rewriterOfWords looks for a word that is as long as it may be.
type rewriterOfWords struct{ statements.Rewriter }

var longestWord = strings.Repeat("z", statements.EffectWordSize) //nolint:gochecknoglobals // a constant

func (rewriterOfWords) MayHaveEffects(text []byte) bool {
	return strings.Contains(string(text), longestWord)
}

// TestWordsAcrossPieces: a word is found wherever the text is cut.
func TestWordsAcrossPieces(t *testing.T) {
	text := []byte(strings.Repeat("x ", 30) + longestWord + strings.Repeat("y ", 30))
	for piece := 1; piece < len(text); piece++ {
		u := unread{rewriter: rewriterOfWords{}}
		for part := range slices.Chunk(text, piece) {
			u.Saw(part)
		}
		if !u.found {
			t.Errorf("not found in pieces of %d", piece)
		}
	}
}
