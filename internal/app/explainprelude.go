package app

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"mbusproxy/engine"
	"mbusproxy/engine/calls"
	"mbusproxy/rewrite/plan"
	"mbusproxy/rewrite/splice"
	"mbusproxy/selector"
	"mbusproxy/sqlfuncs"
)

// checkSelectors refuses selectors of a plan that the engine would refuse. Those that are parameters are not known.
func (e *explainer) checkSelectors(ctx context.Context, p *plan.Plan) *plan.Plan {
	for _, v := range p.Selectors() {
		if len(v.Parameters()) > 0 {
			continue
		}
		text, r := read(v, sqlfuncs.Text, nil)
		if r != nil {
			return p.Refuse(v.Offset, *r)
		}
		if text == nil || strings.TrimSpace(*text) == "" {
			continue
		}
		var refused *selector.Error
		if _, err := selector.Compile(ctx, e.parser, *text, e.site.selectors); errors.As(err, &refused) {
			return p.Refuse(v.Offset, plan.Refusal{
				Code:    refused.Code,
				Message: fmt.Sprintf("the selector %s is refused: %s", *text, refused.Message),
				Hint:    refused.Hint,
			})
		}
	}
	return p
}

// preludes are the prelude statements of a text.
type preludes struct {
	codes []string // in PL/pgSQL, in the order of plan.Plan.Preludes
	// parameters are those on which they depend; where there are any, there are no codes, since the values come with a Bind.
	parameters []int
}

// makePreludes makes the prelude statements of a plan. It returns the plan, or one that refuses a call.
func (e *explainer) makePreludes(ctx context.Context, p *plan.Plan) (*plan.Plan, preludes) {
	var made preludes
	steps := p.Preludes()
	for _, s := range steps {
		for _, v := range s.Args {
			made.parameters = append(made.parameters, v.Parameters()...)
		}
		if v, found := firstParameter(s); found && !e.session.Prepared {
			return p.Refuse(v.Offset, noParameter(v.Parameters()[0])), preludes{}
		}
	}
	if len(made.parameters) > 0 {
		slices.Sort(made.parameters)
		made.parameters = slices.Compact(made.parameters)
		return p, made
	}
	for _, s := range steps {
		code, r := e.code(ctx, s)
		if r != nil {
			return p.Refuse(s.Offset, *r), preludes{}
		}
		made.codes = append(made.codes, code)
	}
	return p, made
}

// code returns the PL/pgSQL that does the work of one call, which depends on no parameters.
func (e *explainer) code(ctx context.Context, s plan.Prelude) (string, *plan.Refusal) {
	args, expressions := map[string]*string{}, map[string]string{}
	for _, p := range s.Func.Params {
		v, r := s.Args[p.Name], (*plan.Refusal)(nil)
		if len(v.Expression) > 0 {
			expressions[p.Name], r = expression(v.Expression, nil)
		} else {
			args[p.Name], r = read(v, p.Type, nil)
		}
		if r != nil {
			return "", r
		}
	}
	code, err := e.texts.Prelude(e.site.Site, calls.PreludeCall{
		Func: s.Func, Name: s.Name, Args: args, Expressions: expressions, Number: s.Call, Secret: splice.BlankSecret, Guard: s.Guard,
		Rewrite: func(text string) (string, error) { return e.nested(ctx, text) },
	})
	if err != nil {
		return "", refusal(err)
	}
	return code, nil
}

// nested rewrites a statement that is an argument of a call.
func (e *explainer) nested(ctx context.Context, text string) (string, error) {
	inner := e.session
	inner.Answer = ""
	p := e.rewrite.Rewrite(ctx, text, inner, e.env)
	if p == nil {
		return text, nil
	}
	if p = e.checkSelectors(ctx, p); len(p.Refused()) == 0 && p.BindTime() {
		return "", &engine.Error{
			Code:    codeFeatureNotSupported,
			Message: "a statement given to a call cannot itself hold calls that take a statement of their own",
			Hint:    "Do that in a statement of the client.",
		}
	}
	if refused := p.Refused(); len(refused) > 0 {
		r := refused[0]
		return "", &engine.Error{Code: r.Code, Message: r.Message, Hint: r.Hint}
	}
	return p.SQL(), nil
}
