package statements

import (
	"context"

	"mbusproxy/proxy/wire"
)

// Prober is a Rewriter that may have to ask the session's server before it can decide what becomes
// of a text. That costs a round trip.
type Prober interface {
	Rewriter
	// Probe returns the probe query that is run in the session before Rewrite is called with the text, or "" nearly
	// always. It yields one row with one column, a text of at most MaxAnswer bytes, which is
	// Context.Answer then. ctx ends with the session. It is only called for texts for which Mentions is true.
	Probe(ctx context.Context, sc Context, text string) string
}

// MaxAnswer bounds the DataRow with the answer to a probe query, in bytes.
const MaxAnswer = wire.MaxSmall
