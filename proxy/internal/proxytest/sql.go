package proxytest

import (
	"mbusproxy/proxy/statements"
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
func (SQL) Effects(sc statements.Context, text string) (out []statements.Effect, more bool) {
	found, more := effects.Of(text, sc.Encoding, sc.EscapeStrings)
	for _, e := range found {
		out = append(out, statements.Effect(e))
	}
	return out, more
}
