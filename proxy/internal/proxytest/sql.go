package proxytest

import (
	"mbusproxy/proxy/pipeline"
	"mbusproxy/rewrite/effects"
)

// SQL is the part of a Rewriter that knows what texts do to names; it is the real one.
type SQL struct{}

// MaySetTimeouts is that of package effects.
func (SQL) MaySetTimeouts(text []byte) bool { return effects.MaySetTimeouts(text) }

// MayDeallocate is that of package effects.
func (SQL) MayDeallocate(text []byte) bool { return effects.MayDeallocate(text) }

// MayHaveEffects is MayHave of package effects.
func (SQL) MayHaveEffects(text []byte) bool { return effects.MayHave(text) }

// Effects is Of of package effects.
func (SQL) Effects(sc pipeline.StatementContext, text string) (out []pipeline.Effect, more bool) {
	found, more := effects.Of(text, sc.Encoding, sc.EscapeStrings)
	for _, e := range found {
		out = append(out, pipeline.Effect(e))
	}
	return out, more
}
