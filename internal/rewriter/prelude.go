package rewriter

import (
	"context"
	"slices"
	"strconv"
	"strings"

	"mbusproxy/engine"
	"mbusproxy/engine/calls"
	"mbusproxy/engine/schedule"
	"mbusproxy/engine/selectors"
	"mbusproxy/proxy/statements"
	"mbusproxy/proxy/wire"
	"mbusproxy/rewrite"
	"mbusproxy/rewrite/lex"
	"mbusproxy/rewrite/plan"
	"mbusproxy/sqlfuncs"
)

// PreludeMaker does what comes before the text of a plan: it makes sure of its selectors, and makes
// prelude statements. Both need the values of arguments. It is safe for concurrent use, as the plan
// is.
type PreludeMaker struct {
	rewrite *rewrite.Rewriter
	texts   *calls.Texts
	db      Database
}

// Database is what a PreludeMaker asks of an engine.Database.
type Database interface {
	Site() calls.Site
	NoteOrder()
	EnsureSelector(ctx context.Context, use selectors.Use) error
}

// NewPreludeMaker returns a PreludeMaker for a database.
func NewPreludeMaker(r *rewrite.Rewriter, texts *calls.Texts, db Database) *PreludeMaker {
	return &PreludeMaker{rewrite: r, texts: texts, db: db}
}

// CheckLiterals makes sure that selectors and schedules that are given as literals are allowed. It
// returns p, or a plan that refuses one of them.
func (m *PreludeMaker) CheckLiterals(ctx context.Context, sc statements.Context, p *plan.Plan) *plan.Plan {
	return m.checkSelectors(ctx, sc, p, nil)
}

// Of returns the prelude statements of one call whose arguments are no parameters.
func (m *PreludeMaker) Of(ctx context.Context, sc statements.Context, s plan.Prelude) ([]string, *plan.Refusal) {
	return m.of(ctx, sc, s, nil)
}

const (
	codeFeatureNotSupported = "0A000" // for a value that cannot be used
	codeUndefinedParameter  = "42P02"
)

// forBind returns the plan that must run before a portal with these values: a prelude statement, a refusal, or nil.
func (m *PreludeMaker) forBind(ctx context.Context, sc statements.Context, p *plan.Plan, values wire.Values) *plan.Plan {
	if !values.Known() {
		return p.Refuse(0, plan.Refusal{
			Code:    "54000", // program_limit_exceeded
			Message: "the parameters of the statement are too long: its call needs them before it runs",
			Hint:    "Give the statement to run, the names of a view or the selector as literals or in less than 32 kB, and large values in a statement of their own.",
		})
	}
	sent := &bound{values, sc.Encoding}
	checked := m.checkSelectors(ctx, sc, p, sent)
	if checked != p {
		return checked
	}
	return m.makePrelude(ctx, sc, p, sent)
}

// checkSelectors makes sure that selectors are allowed and have their rows, and that schedules can
// be read: those given as literals, and with those of a Bind also those given as parameters. A
// prepared statement may be old, so its literals are checked whenever it is bound. It returns p, or
// a plan that refuses one of the selectors.
func (m *PreludeMaker) checkSelectors(ctx context.Context, sc statements.Context, p *plan.Plan, sent *bound) *plan.Plan {
	for _, v := range p.Selectors() {
		if len(v.Parameters()) > 0 && sent == nil {
			continue
		}
		text, r := read(v, sqlfuncs.Text, sent)
		if r != nil {
			return p.Refuse(v.Offset, *r)
		}
		if v.Checked != "" {
			if r := checkScheduled(v.Checked, text); r != nil {
				return p.Refuse(v.Offset, *r)
			}
			continue
		}
		if text == nil || strings.TrimSpace(*text) == "" {
			continue
		}
		if !lex.Translated(*text, sc.Encoding) {
			return p.Refuse(v.Offset, plan.Refusal{
				Code:    codeNotInRepertoire,
				Message: "the selector " + *text + " is refused: it holds characters other than ASCII",
				Hint:    "Set client_encoding to UTF8 to create it.",
			})
		}
		use := selectors.Use{Role: sc.User, Temporary: v.Serves == "create_temporary_consumer" || v.Serves == "redrive", Text: *text}
		if err := m.db.EnsureSelector(ctx, use); err != nil {
			return p.Refuse(v.Offset, *refusal(err))
		}
	}
	return p
}

// checkScheduled makes sure that a cron text, or the name of a time zone, can be read. Null is the server's to refuse.
func checkScheduled(param string, text *string) *plan.Refusal {
	if text == nil {
		return nil
	}
	cron, zone := "@daily", *text
	if param == "cron" {
		cron, zone = *text, "UTC"
	}
	if err := schedule.Check(cron, zone); err != nil {
		return refusal(err)
	}
	return nil
}

// read returns the text of a value of type t; nil for null.
func read(v plan.Value, t sqlfuncs.Type, sent *bound) (*string, *plan.Refusal) {
	switch {
	case v.Null:
		return nil, nil
	case len(v.Joined) > 0:
		return join(v.Joined, sent)
	case v.Param == 0:
		return &v.Text, nil
	case v.Bare:
		t = sqlfuncs.Void
	}
	return sent.parameter(v.Param, t)
}

// join reads values that make up one.
func join(values []plan.Value, sent *bound) (*string, *plan.Refusal) {
	whole := ""
	for _, v := range values {
		text, r := read(v, sqlfuncs.Text, sent)
		if text == nil || r != nil {
			return nil, r
		}
		whole += *text
	}
	return &whole, nil
}

// expression puts the values of parameters into an expression.
func expression(pieces []plan.ExprPiece, sent *bound) (string, *plan.Refusal) {
	var sql strings.Builder
	for _, p := range pieces {
		sql.WriteString(p.SQL)
		if p.Param == 0 {
			continue
		}
		text, r := sent.parameter(p.Param, p.Type)
		switch {
		case r != nil:
			return "", r
		case text == nil:
			sql.WriteString("null")
		default:
			sql.WriteString(sqlfuncs.QuoteLiteral(*text))
		}
	}
	return sql.String(), nil
}

// addPreludes puts the prelude statements of a plan for a Query into its text.
func (m *PreludeMaker) addPreludes(ctx context.Context, sc statements.Context, p *plan.Plan) *plan.Plan {
	made, refused := m.all(ctx, sc, p, nil)
	switch {
	case refused != nil:
		return refused
	case len(made) == 0:
		return p
	}
	return p.WithPreludes(made)
}

// FirstParameter returns, of the arguments of a call that are parameters, the one that comes first in the text.
func FirstParameter(s plan.Prelude) (first plan.Value, found bool) {
	for _, v := range s.Args {
		if len(v.Parameters()) > 0 && (!found || v.Offset < first.Offset) {
			first, found = v, true
		}
	}
	return first, found
}

// NoParameter is what the server says of a parameter in a Query.
func NoParameter(n int) plan.Refusal {
	return plan.Refusal{Code: codeUndefinedParameter, Message: "there is no parameter $" + strconv.Itoa(n)}
}

// makePrelude returns the plan of the first of the prelude statements that do the work of all calls of p that
// need them; nil for none.
func (m *PreludeMaker) makePrelude(ctx context.Context, sc statements.Context, p *plan.Plan, sent *bound) *plan.Plan {
	made, refused := m.all(ctx, sc, p, sent)
	if refused != nil {
		return refused
	}
	var first *plan.Plan
	for i, s := range slices.Backward(p.Preludes()) {
		for _, text := range slices.Backward(made[i]) {
			first = plan.PreludePlan(p, s.Call, text, first)
		}
	}
	return first
}

// all returns the prelude statements of each call of p, or a plan that refuses one of the calls. A Query has no parameters: sent is nil.
func (m *PreludeMaker) all(ctx context.Context, sc statements.Context, p *plan.Plan, sent *bound) (made [][]string, refused *plan.Plan) {
	for _, s := range p.Preludes() {
		if v, found := FirstParameter(s); found && sent == nil {
			return nil, p.Refuse(v.Offset, NoParameter(v.Parameters()[0]))
		}
		texts, r := m.of(ctx, sc, s, sent)
		if r != nil {
			return nil, p.Refuse(s.Offset, *r)
		}
		made = append(made, texts)
	}
	return made, nil
}

// of returns the prelude statements of one call.
func (m *PreludeMaker) of(ctx context.Context, sc statements.Context, s plan.Prelude, sent *bound) ([]string, *plan.Refusal) {
	args, expressions := make(map[string]*string, len(s.Args)), map[string]string{}
	for _, p := range s.Func.Params {
		v, r := s.Args[p.Name], (*plan.Refusal)(nil)
		if len(v.Expression) > 0 {
			expressions[p.Name], r = expression(v.Expression, sent)
		} else {
			args[p.Name], r = read(v, p.Type, sent)
		}
		if r != nil {
			return nil, r
		}
	}
	made, err := m.texts.Preludes(m.db.Site(), calls.PreludeCall{
		Func: s.Func, Name: s.Name, Args: args, Expressions: expressions, Number: s.Call, Secret: sc.Secret, Guard: s.Guard,
		Rewrite: func(text string) (string, error) { return m.nested(ctx, sc, text) },
	})
	if err != nil {
		return nil, refusal(err)
	}
	return made, nil
}

// nested rewrites a statement that is an argument of a call.
func (m *PreludeMaker) nested(ctx context.Context, sc statements.Context, text string) (string, error) {
	inner := session(sc)
	inner.Void, inner.Answer = nil, ""
	p := m.rewrite.Rewrite(ctx, text, inner, func() (plan.Env, *plan.Refusal) { return Environment(m.db), nil })
	if p == nil {
		return text, nil
	}
	noteOrder(m.db, p)
	if p = m.checkSelectors(ctx, sc, p, nil); len(p.Refused()) == 0 && p.BindTime() {
		return "", &engine.Error{
			Code:    codeFeatureNotSupported,
			Message: "a statement given to a call cannot contain calls such as run_on_<q>, process_queue and create_view",
			Hint:    "Send these calls in a statement of the client's own.",
		}
	}
	if refused := p.Refused(); len(refused) > 0 {
		r := refused[0]
		return "", &engine.Error{Code: r.Code, Message: r.Message, Hint: r.Hint}
	}
	return p.For(sc.Secret).SQL(), nil
}
