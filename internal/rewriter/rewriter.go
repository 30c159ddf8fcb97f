package rewriter

import (
	"context"
	"errors"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgproto3"

	"mbusproxy/engine"
	"mbusproxy/engine/calls"
	"mbusproxy/internal/tracing"
	"mbusproxy/proxy/statements"
	"mbusproxy/proxy/wire"
	"mbusproxy/rewrite"
	"mbusproxy/rewrite/detect"
	"mbusproxy/rewrite/effects"
	"mbusproxy/rewrite/parse"
	"mbusproxy/rewrite/plan"
)

// Rewriter is the statements.Rewriter that package rewrite and the engine are together.
type Rewriter struct {
	rewrite *rewrite.Rewriter
	engine  *engine.Engine
	texts   *calls.Texts
	// noPrepare is as in New.
	noPrepare bool
	asks      bool // see InProxy
	counts    *callCounts
	served    *servedClients
	Tracer    *tracing.Tracer // nil: nothing is traced; set before the first call
}

// New returns a Rewriter. The proxy gets what InProxy returns. noPrepare says that calls which are
// sent again and again are not run by prepared statements.
func New(eng *engine.Engine, unqualified *detect.Unqualified, parser *parse.Parser, noPrepare bool) *Rewriter {
	texts := calls.New()
	return &Rewriter{
		rewrite: rewrite.New(texts, unqualified, parser), engine: eng, texts: texts, noPrepare: noPrepare, asks: unqualified != nil, counts: newCallCounts(),
		served: newServedClients(),
	}
}

// InProxy returns what the proxy calls: a prober where calls without the schema are served.
func (r *Rewriter) InProxy() statements.Rewriter {
	if r.asks {
		return prober{r}
	}
	return r
}

// Texts makes the SQL of calls.
func (r *Rewriter) Texts() *calls.Texts { return r.texts }

// Cached tells of the cache of plans.
func (r *Rewriter) Cached() rewrite.Counts { return r.rewrite.Counts() }

// Calls gives the numbers for each function that has been called.
func (r *Rewriter) Calls(f func(function string, ok, failed uint64)) { r.counts.each(f) }

// Refusals gives how many statements have been refused, by SQLSTATE.
func (r *Rewriter) Refusals() map[string]uint64 { return r.counts.refusals() }

// Mentions is the cheap test on raw bytes.
func (r *Rewriter) Mentions(text []byte) bool { return r.rewrite.Mentions(text) }

// MayHaveEffects is the cheap test for Effects.
func (r *Rewriter) MayHaveEffects(text []byte) bool { return effects.MayHave(text) }

// MayDeallocate is the cheap test for DEALLOCATE where it cannot be seen.
func (r *Rewriter) MayDeallocate(text []byte) bool { return effects.MayDeallocate(text) }

// MaySetTimeouts is the cheap test for texts that may change the session's timeouts.
func (r *Rewriter) MaySetTimeouts(text []byte) bool { return effects.MaySetTimeouts(text) }

// The proxy shows parts of a text to MayHaveEffects, which overlap by as much as it knows of.
const _ = uint(statements.EffectWordSize - effects.WordSize)

// Effects returns what the statements of a text do to names of prepared statements and portals.
func (r *Rewriter) Effects(sc statements.Context, text string) (out []statements.Effect, more bool) {
	found, more := effects.Of(text, sc.Encoding, sc.EscapeStrings)
	for _, e := range found {
		out = append(out, statements.Effect(e))
	}
	return out, more
}

// Rewrite returns nil for a text that is to be forwarded.
func (r *Rewriter) Rewrite(ctx context.Context, sc statements.Context, text string) statements.Plan {
	var db *engine.Database
	client := r.caller(sc)
	ctx = client.context(ctx)
	text, traced, s := r.read(sc, text)
	p := r.rewrite.Rewrite(ctx, text, s, func() (plan.Env, *plan.Refusal) {
		var err error
		if db, err = r.engine.DatabaseFor(ctx, sc.Database, sc.User, sc.Began); err != nil {
			return plan.Env{}, refusal(err)
		}
		return Environment(db), nil
	})
	if p == nil {
		return nil // not p, which would make an interface that is not nil
	}
	out := wirePlan{Plan: r.ownPlan(sc, p), db: db, counts: r.counts, client: client, statement: traced}
	if db == nil {
		return out
	}
	noteOrder(db, out.Plan)
	m := &PreludeMaker{rewrite: r.rewrite, texts: r.texts, db: db}
	out.Plan = m.checkSelectors(ctx, sc, out.Plan, nil)
	switch {
	case sc.Simple:
		out.Plan = m.addPreludes(ctx, sc, out.Plan)
	case !out.Plan.BindTime() && len(out.Selectors()) == 0:
		return out
	default:
		out.preludes = m
	}
	out.texts, out.prepares = r.texts, !r.noPrepare
	return out
}

// Recall returns what Rewrite would, where that is known at once.
func (r *Rewriter) Recall(sc statements.Context, text []byte) (statements.Plan, bool) {
	db := r.engine.Recall(sc.Database, sc.Began)
	if db == nil {
		return nil, false
	}
	body, traced, s := r.read(sc, string(text))
	p := r.rewrite.Recall(body, s, Environment(db))
	if p == nil {
		return nil, false
	}
	noteOrder(db, p)
	return wirePlan{Plan: r.ownPlan(sc, p), db: db, counts: r.counts, client: r.caller(sc), statement: traced}, true
}

// ownPlan returns the plan for the session.
func (r *Rewriter) ownPlan(sc statements.Context, p *plan.Plan) *plan.Plan {
	if r.noPrepare {
		p = p.Unprepared()
	}
	return p.For(sc.Secret)
}

// noteOrder tells the database of a plan that may post messages which wait for others.
func noteOrder(db interface{ NoteOrder() }, p *plan.Plan) {
	if p.GivesHeaders() {
		db.NoteOrder()
	}
}

func session(sc statements.Context) plan.Session {
	return plan.Session{Encoding: sc.Encoding, EscapeStrings: sc.EscapeStrings, Void: sc.VoidParams, Prepared: !sc.Simple, Answer: sc.Answer}
}

// Environment is what a plan depends on in a database.
func Environment(db interface{ Site() calls.Site }) plan.Env {
	return plan.Env{Ordered: db.Site().Ordered}
}

// EditReport edits a report that belongs to no plan.
func (r *Rewriter) EditReport(secret string, m *pgproto3.ErrorResponse) bool {
	return edit(m, 0, func(r *plan.Report) bool { return plan.EditReport(r, secret) })
}

// refusal is what a client is told about a failure of the engine.
func refusal(err error) *plan.Refusal {
	var e *engine.Error
	if errors.As(err, &e) {
		return &plan.Refusal{Code: e.Code, Message: e.Message, Hint: e.Hint, Detail: serversWords(e.Err)}
	}
	// The engine's other errors are those of the session's context, which has ended.
	return &plan.Refusal{Code: "57P01", Message: "the session is ending", Detail: err.Error()}
}

// serversWords returns the part of a cause that clients may see: the message of the server. Errors
// of connecting name hosts, ports and the role of --admin, and those of the network name addresses;
// they are in the log only.
func serversWords(err error) string {
	var server *pgconn.PgError
	if errors.As(err, new(*pgconn.ConnectError)) || !errors.As(err, &server) {
		return ""
	}
	return server.Message
}

// wirePlan is the statements.Plan of a plan.Plan.
type wirePlan struct {
	*plan.Plan
	preludes *PreludeMaker    // nil unless it is a bind-time plan
	db       *engine.Database // nil where the database cannot be served
	texts    *calls.Texts     // of a plan with a call that waits
	counts   *callCounts      // nil: it is part of a statement that another plan is for
	client   caller
	// statement is what is kept of the text itself.
	statement
	// prepares says that what looks for a call that waits may be prepared in the session.
	prepares bool
}

// Ran counts the statement's calls.
func (p wirePlan) Ran(ok bool) {
	p.counts.count(p.Plan, ok)
	if ok {
		p.client.ran(p.Plan)
	}
}

// Takes says what a statement of the plan takes.
func (p wirePlan) Takes() statements.Takes {
	for f := range p.Functions() {
		if !f.Takes() {
			continue
		}
		if p.Alone() && f.Set { // else it returns a row of nulls where it has taken nothing
			return statements.TakesRows
		}
		return statements.TakesSome
	}
	return statements.TakesNothing
}

// EditReport edits a report about the plan's text.
func (p wirePlan) EditReport(m *pgproto3.ErrorResponse, done int) bool {
	return edit(m, done, p.Plan.EditReport)
}

// BindTime reports whether Prelude is to be called.
func (p wirePlan) BindTime() bool { return p.preludes != nil }

// Prelude returns the prelude statement that the values make, or nil.
func (p wirePlan) Prelude(ctx context.Context, sc statements.Context, values wire.Values) statements.Plan {
	if prelude := p.preludes.forBind(p.client.context(ctx), sc, p.Plan, values); prelude != nil {
		return wirePlan{Plan: prelude, db: p.db}
	}
	return nil
}

// Next returns the prelude statement behind this one.
func (p wirePlan) Next() statements.Plan {
	if next := p.Plan.Next(); next != nil {
		return wirePlan{Plan: next, db: p.db}
	}
	return nil
}

// edit lets f change m in the form that package rewrite knows.
func edit(m *pgproto3.ErrorResponse, done int, f func(*plan.Report) bool) bool {
	r := plan.Report{
		Severity: m.SeverityUnlocalized,
		Code:     m.Code,
		Message:  m.Message,
		Detail:   m.Detail,
		Hint:     m.Hint,
		Where:    m.Where,
		File:     m.File,
		Position: int(m.Position),
		Done:     done,
	}
	if !f(&r) {
		return false
	}
	if r.Severity != m.SeverityUnlocalized {
		m.Severity, m.SeverityUnlocalized = r.Severity, r.Severity
	}
	m.Code, m.Message, m.Detail, m.Hint, m.Where = r.Code, r.Message, r.Detail, r.Hint, r.Where
	m.Position = int32(r.Position)
	if r.Internal {
		// Where in the server's source the marker was refused says nothing about our error.
		m.File, m.Line, m.Routine = "", 0, ""
		m.InternalPosition, m.InternalQuery = 0, ""
		m.SchemaName, m.TableName, m.ColumnName, m.DataTypeName, m.ConstraintName = "", "", "", "", ""
	}
	return true
}
