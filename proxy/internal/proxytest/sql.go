package proxytest

import (
	"mbusproxy/proxy/pipeline"
	"mbusproxy/rewrite"
)

// SQL is the part of a Rewriter that knows what texts do to names; it is the real one.
type SQL struct{}

// MayHaveEffects is that of package rewrite.
func (SQL) MayHaveEffects(text []byte) bool { return rewrite.MayHaveEffects(text) }

// Effects is that of package rewrite.
func (SQL) Effects(sc pipeline.StatementContext, text string) (effects []pipeline.Effect, more bool) {
	found, more := rewrite.Effects(text, rewrite.Session{Encoding: sc.Encoding, EscapeStrings: sc.EscapeStrings})
	for _, e := range found {
		effects = append(effects, pipeline.Effect(e))
	}
	return effects, more
}
