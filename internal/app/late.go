package app

import (
	"context"
	"encoding/binary"
	"strconv"
	"strings"

	"mbusproxy/engine"
	"mbusproxy/engine/calls"
	"mbusproxy/engine/selectors"
	"mbusproxy/proxy/pipeline"
	"mbusproxy/proxy/wire"
	"mbusproxy/rewrite"
	"mbusproxy/sqlfuncs"
)

// late does for a plan what needs the values of its arguments: selectors are checked, steps made. It is
// safe for concurrent use, as the plan is.
type late struct {
	*rewriter
	db *engine.Database
}

const (
	codeFeatureNotSupported = "0A000" // for a value that cannot be used
	codeUndefinedParameter  = "42P02"
)

// bound returns the step for the values of a Bind: what has to run before, a refusal, or nil.
func (l *late) bound(ctx context.Context, sc pipeline.StatementContext, p *rewrite.Plan, values wire.Values) *rewrite.Plan {
	if !values.Known() {
		return p.Refuse(0, rewrite.Refusal{
			Code:    "54000", // program_limit_exceeded
			Message: "the parameters of a call that needs their values are too long",
		})
	}
	checked := l.checkSelectors(ctx, sc, p, values.Get)
	if checked != p {
		return checked
	}
	return l.makeSteps(ctx, sc, p, values.Get)
}

// valueOf gives a parameter of the protocol; nil where there is none to be had.
type valueOf func(n int) (wire.Value, bool)

// checkSelectors makes sure of the selectors whose texts are known: literals, and with a valueOf parameters, too. A
// prepared statement may be old, so its literals are checked whenever it is bound. It returns p, or a plan that refuses one of them.
func (l *late) checkSelectors(ctx context.Context, sc pipeline.StatementContext, p *rewrite.Plan, get valueOf) *rewrite.Plan {
	for _, v := range p.Selectors() {
		if v.Param > 0 && get == nil {
			continue
		}
		text := read(v, sqlfuncs.Text, get)
		if text == nil || strings.TrimSpace(*text) == "" {
			continue
		}
		if !rewrite.Translated(*text, sc.Encoding) {
			return p.Refuse(v.Offset, rewrite.Refusal{
				Code:    "22021", // character_not_in_repertoire
				Message: "the selector " + *text + " is refused: it holds characters other than ASCII",
				Hint:    "Set client_encoding to UTF8 to create it.",
			})
		}
		use := selectors.Use{Role: sc.User, Temporary: v.Serves == "create_temporary_consumer", Text: *text}
		if err := l.db.EnsureSelector(ctx, use); err != nil {
			return p.Refuse(v.Offset, *refusal(err))
		}
	}
	return p
}

// read gives the text of a value of type t; nil for null.
func read(v rewrite.Value, t sqlfuncs.Type, get valueOf) *string {
	switch {
	case v.Null:
		return nil
	case v.Param == 0:
		return &v.Text
	}
	sent, ok := get(v.Param)
	if !ok || sent.Null { // where there is none the server says so
		return nil
	}
	text := string(sent.Bytes) // a text is the same in both formats
	if sent.Format != 0 {
		switch t {
		case sqlfuncs.Boolean:
			text = strconv.FormatBool(text == "\x01")
		case sqlfuncs.Integer, sqlfuncs.BigInt:
			text = integerText(sent.Bytes)
		}
	}
	return &text
}

// integerText reads an integer in binary format, of whatever size; anything else gives no number.
func integerText(b []byte) string {
	var n int64
	switch len(b) {
	case 2:
		n = int64(int16(binary.BigEndian.Uint16(b)))
	case 4:
		n = int64(int32(binary.BigEndian.Uint32(b)))
	case 8:
		n = int64(binary.BigEndian.Uint64(b))
	default:
		return "binary"
	}
	return strconv.FormatInt(n, 10)
}

// addSteps puts the steps of a plan for a Query into its text.
func (l *late) addSteps(ctx context.Context, sc pipeline.StatementContext, p *rewrite.Plan) *rewrite.Plan {
	steps := p.Steps()
	if len(steps) == 0 {
		return p
	}
	texts := make([]string, len(steps))
	for i, s := range steps {
		if v, found := firstParameter(s); found {
			return p.Refuse(v.Offset, noParameter(v.Param))
		}
		text, r := l.step(ctx, sc, s, nil)
		if r != nil {
			return p.Refuse(s.Offset, *r)
		}
		texts[i] = calls.DoBlock(text)
	}
	return p.WithSteps(texts)
}

// firstParameter returns the argument of a step that is the first in the text of those that are parameters.
func firstParameter(s rewrite.Step) (first rewrite.Value, found bool) {
	for _, v := range s.Args {
		if v.Param > 0 && (!found || v.Offset < first.Offset) {
			first, found = v, true
		}
	}
	return first, found
}

// noParameter is what the server says of a parameter in a Query.
func noParameter(n int) rewrite.Refusal {
	return rewrite.Refusal{Code: codeUndefinedParameter, Message: "there is no parameter $" + strconv.Itoa(n)}
}

// makeSteps returns one plan that does all steps of p.
func (l *late) makeSteps(ctx context.Context, sc pipeline.StatementContext, p *rewrite.Plan, get valueOf) *rewrite.Plan {
	steps := p.Steps()
	if len(steps) == 0 {
		return nil
	}
	texts := make([]string, len(steps))
	for i, s := range steps {
		text, r := l.step(ctx, sc, s, get)
		if r != nil {
			return p.Refuse(s.Offset, *r)
		}
		texts[i] = text
	}
	return rewrite.StepPlan(p, steps[0].Call, calls.DoBlock(texts...))
}

// step returns the code of one step.
func (l *late) step(ctx context.Context, sc pipeline.StatementContext, s rewrite.Step, get valueOf) (string, *rewrite.Refusal) {
	args := make(map[string]*string, len(s.Args))
	for _, p := range s.Func.Params {
		args[p.Name] = read(s.Args[p.Name], p.Type, get)
	}
	text, err := l.texts.Prelude(l.db.Site(), calls.PreludeCall{
		Func: s.Func, Args: args, Number: s.Call, Secret: sc.Secret, Guard: s.Guard,
		Rewrite: func(text string) (string, error) { return l.nested(ctx, sc, text) },
	})
	if err != nil {
		return "", refusal(err)
	}
	return text, nil
}

// nested returns what becomes of a statement that is an argument of a call.
func (l *late) nested(ctx context.Context, sc pipeline.StatementContext, text string) (string, error) {
	inner := session(sc)
	inner.Void, inner.Answer = nil, ""
	p := l.rewrite.RewriteContext(ctx, text, inner, func() (rewrite.Env, *rewrite.Refusal) { return environment(l.db), nil })
	if p == nil {
		return text, nil
	}
	if p.GivesHeaders() {
		l.db.NoteOrder()
	}
	if p = l.checkSelectors(ctx, sc, p, nil); p.Refused() == nil && p.Late() {
		return "", &engine.Error{
			Code:    codeFeatureNotSupported,
			Message: "a statement given to a call cannot itself hold calls that take a statement of their own",
			Hint:    "Do that in a statement of the client.",
		}
	}
	if r := p.Refused(); r != nil {
		return "", &engine.Error{Code: r.Code, Message: r.Message, Hint: r.Hint}
	}
	return p.For(sc.Secret).SQL(), nil
}
