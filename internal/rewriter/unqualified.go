package rewriter

import (
	"context"

	"github.com/jackc/pgx/v5/pgproto3"

	"mbusproxy/engine/calls"
	"mbusproxy/proxy/statements"
	"mbusproxy/rewrite/lex"
)

// prober is a rewriter that serves calls without the schema, too, where the session says that they mean ours.
type prober struct{ *Rewriter }

// Probe returns the query that asks which calls without the schema mean functions of ours.
func (a prober) Probe(ctx context.Context, sc statements.Context, text string) string {
	text, _ = lex.CutTags(text, lex.EncodingOf(sc.Encoding), sc.EscapeStrings)
	candidates := a.rewrite.Candidates(a.caller(sc).context(ctx), text, session(sc))
	if len(candidates) == 0 {
		return ""
	}
	unqualified := make([]calls.Unqualified, len(candidates))
	for i, c := range candidates {
		unqualified[i] = calls.Unqualified(c)
	}
	return a.texts.ProbeQuery(unqualified)
}

// Recall knows nothing at once: the session may have to be asked first.
func (a prober) Recall(statements.Context, []byte) (statements.Plan, bool) { return nil, false }

// EditReport edits a report that belongs to no plan.
func (a prober) EditReport(secret string, m *pgproto3.ErrorResponse) bool {
	return a.Rewriter.EditReport(secret, m) || edit(m, 0, a.rewrite.HintUnqualified)
}
