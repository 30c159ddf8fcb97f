package explain

import (
	"context"
	"slices"

	"mbusproxy/engine/calls"
	"mbusproxy/engine/selectors"
	"mbusproxy/internal/rewriter"
	"mbusproxy/proxy/statements"
	"mbusproxy/rewrite/parse"
	"mbusproxy/rewrite/plan"
	"mbusproxy/rewrite/splice"
)

// onSite is a site in place of the engine.Database that would serve the text: nothing is kept of
// what a text brings about.
type onSite struct {
	site
	parser *parse.Parser
}

func (s onSite) Site() calls.Site { return s.site.Site }

// NoteOrder does nothing.
func (onSite) NoteOrder() {}

// EnsureSelector checks a selector as the engine would.
func (s onSite) EnsureSelector(ctx context.Context, use selectors.Use) error {
	return selectors.Check(ctx, s.parser, use.Text, s.selectors)
}

// preludes are the prelude statements of a text.
type preludes struct {
	calls [][]string // the statements of each call, in the order of plan.Plan.Preludes
	// parameters are those on which they depend; where there are any, there are no calls, since the
	// values come with a Bind.
	parameters []int
}

// preludes returns what checks selectors and makes prelude statements for the site.
func (e *explainer) preludes() *rewriter.PreludeMaker {
	return rewriter.NewPreludeMaker(e.rewrite, e.texts, onSite{e.site, e.parser})
}

// context is what a proxy would tell of the session.
func (e *explainer) context() statements.Context {
	return statements.Context{
		Encoding: e.session.Encoding, Secret: splice.BlankSecret, Simple: !e.session.Prepared, Answer: e.session.Answer,
	}
}

// makePreludes makes the prelude statements of a plan. It returns the plan, or one that refuses a call.
func (e *explainer) makePreludes(ctx context.Context, p *plan.Plan) (*plan.Plan, preludes) {
	var made preludes
	steps := p.Preludes()
	for _, s := range steps {
		for _, v := range s.Args {
			made.parameters = append(made.parameters, v.Parameters()...)
		}
		if v, found := rewriter.FirstParameter(s); found && !e.session.Prepared {
			return p.Refuse(v.Offset, rewriter.NoParameter(v.Parameters()[0])), preludes{}
		}
	}
	if len(made.parameters) > 0 {
		slices.Sort(made.parameters)
		made.parameters = slices.Compact(made.parameters)
		return p, made
	}
	for _, s := range steps {
		one, r := e.preludes().Of(ctx, e.context(), s)
		if r != nil {
			return p.Refuse(s.Offset, *r), preludes{}
		}
		made.calls = append(made.calls, one)
	}
	return p, made
}
