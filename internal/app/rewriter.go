package app

import (
	"context"
	"errors"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgproto3"

	"mbusproxy/engine"
	"mbusproxy/engine/calls"
	"mbusproxy/internal/tracing"
	"mbusproxy/proxy/pipeline"
	"mbusproxy/proxy/wire"
	"mbusproxy/rewrite"
	"mbusproxy/rewrite/detect"
	"mbusproxy/rewrite/effects"
	"mbusproxy/rewrite/parse"
	"mbusproxy/rewrite/plan"
)

// rewriter is the pipeline.Rewriter that package rewrite and the engine are together.
type rewriter struct {
	rewrite *rewrite.Rewriter
	engine  *engine.Engine
	texts   *calls.Texts
	// noPrepare is Config.NoPrepare.
	noPrepare bool
	asks      bool // see inProxy
	counts    *callCounts
	tracer    *tracing.Tracer // nil: nothing is traced
}

// newRewriter returns a rewriter. The proxy gets what inProxy returns.
func newRewriter(eng *engine.Engine, unqualified *detect.Unqualified, parser *parse.Parser, noPrepare bool) *rewriter {
	texts := calls.New()
	return &rewriter{
		rewrite: rewrite.New(texts, unqualified, parser), engine: eng, texts: texts, noPrepare: noPrepare, asks: unqualified != nil, counts: newCallCounts(),
	}
}

// inProxy returns what the proxy calls: a prober where calls without the schema are served.
func (r *rewriter) inProxy() pipeline.Rewriter {
	if r.asks {
		return prober{r}
	}
	return r
}

// Mentions is the cheap test on raw bytes.
func (r *rewriter) Mentions(text []byte) bool { return r.rewrite.Mentions(text) }

// MayHaveEffects is the cheap test for Effects.
func (r *rewriter) MayHaveEffects(text []byte) bool { return effects.MayHave(text) }

// MayDeallocate is the cheap test for DEALLOCATE where it cannot be seen.
func (r *rewriter) MayDeallocate(text []byte) bool { return effects.MayDeallocate(text) }

// MaySetTimeouts is the cheap test for texts that may change the session's timeouts.
func (r *rewriter) MaySetTimeouts(text []byte) bool { return effects.MaySetTimeouts(text) }

// The proxy shows parts of a text to MayHaveEffects, which overlap by as much as it knows of.
const _ = uint(pipeline.EffectWordSize - effects.WordSize)

// Effects returns what the statements of a text do to names of prepared statements and portals.
func (r *rewriter) Effects(sc pipeline.StatementContext, text string) (out []pipeline.Effect, more bool) {
	found, more := effects.Of(text, sc.Encoding, sc.EscapeStrings)
	for _, e := range found {
		out = append(out, pipeline.Effect(e))
	}
	return out, more
}

// Rewrite returns nil for a text that is to be forwarded.
func (r *rewriter) Rewrite(ctx context.Context, sc pipeline.StatementContext, text string) pipeline.Plan {
	var db *engine.Database
	text, traced, s := r.read(sc, text)
	p := r.rewrite.Rewrite(ctx, text, s, func() (plan.Env, *plan.Refusal) {
		var err error
		if db, err = r.engine.Database(ctx, sc.Database); err != nil {
			return plan.Env{}, refusal(err)
		}
		return environment(db), nil
	})
	if p == nil {
		return nil // not p, which would make an interface that is not nil
	}
	p = r.ownPlan(sc, p)
	if db == nil {
		return wirePlan{Plan: p, counts: r.counts, statement: traced}
	}
	noteOrder(db, p)
	m := &preludeMaker{rewrite: r.rewrite, texts: r.texts, db: db}
	p = m.checkSelectors(ctx, sc, p, nil)
	if sc.Simple {
		return wirePlan{Plan: m.addPreludes(ctx, sc, p), db: db, texts: r.texts, counts: r.counts, statement: traced, prepares: !r.noPrepare}
	}
	if !p.BindTime() && len(p.Selectors()) == 0 {
		return wirePlan{Plan: p, db: db, counts: r.counts, statement: traced}
	}
	return wirePlan{Plan: p, preludes: m, db: db, texts: r.texts, counts: r.counts, statement: traced, prepares: !r.noPrepare}
}

// Recall returns what Rewrite would, where that is known at once.
func (r *rewriter) Recall(sc pipeline.StatementContext, text []byte) (pipeline.Plan, bool) {
	db := r.engine.Recall(sc.Database)
	if db == nil {
		return nil, false
	}
	body, traced, s := r.read(sc, string(text))
	p := r.rewrite.Recall(body, s, environment(db))
	if p == nil {
		return nil, false
	}
	noteOrder(db, p)
	return wirePlan{Plan: r.ownPlan(sc, p), db: db, counts: r.counts, statement: traced}, true
}

// ownPlan returns the plan for the session.
func (r *rewriter) ownPlan(sc pipeline.StatementContext, p *plan.Plan) *plan.Plan {
	if r.noPrepare {
		p = p.WithPreparable(nil, nil)
	}
	return p.For(sc.Secret)
}

// noteOrder tells the database of a plan that may post messages which wait for others.
func noteOrder(db interface{ NoteOrder() }, p *plan.Plan) {
	if p.GivesHeaders() {
		db.NoteOrder()
	}
}

func session(sc pipeline.StatementContext) plan.Session {
	return plan.Session{Encoding: sc.Encoding, EscapeStrings: sc.EscapeStrings, Void: sc.VoidParams, Prepared: !sc.Simple, Answer: sc.Answer}
}

func environment(db interface{ Site() calls.Site }) plan.Env {
	site := db.Site()
	return plan.Env{HstoreSchema: site.HstoreSchema, Ordered: site.Ordered}
}

// EditReport edits a report that belongs to no plan.
func (r *rewriter) EditReport(secret string, m *pgproto3.ErrorResponse) bool {
	return edit(m, func(r *plan.Report) bool { return plan.EditReport(r, secret) })
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

// serversWords returns the part of a cause that clients may see: the message of the server. Errors of connecting name hosts,
// ports and the role of --admin, and those of the network name addresses; they are in the log only.
func serversWords(err error) string {
	var server *pgconn.PgError
	if errors.As(err, new(*pgconn.ConnectError)) || !errors.As(err, &server) {
		return ""
	}
	return server.Message
}

// wirePlan is the pipeline.Plan of a plan.Plan.
type wirePlan struct {
	*plan.Plan
	preludes *preludeMaker    // nil unless it is a bind-time plan
	db       *engine.Database // nil where the database cannot be served
	texts    *calls.Texts     // of a plan with a call that waits
	counts   *callCounts      // nil: it is part of a statement that another plan is for
	// statement is what is kept of the text itself.
	statement
	// prepares says that what looks for a call that waits may be prepared in the session.
	prepares bool
}

// Ran counts the statement's calls.
func (p wirePlan) Ran(ok bool) { p.counts.count(p.Plan, ok) }

// Takes says what a statement of the plan takes.
func (p wirePlan) Takes() pipeline.Takes {
	for f := range p.Functions() {
		if !f.Takes() {
			continue
		}
		if p.Alone() && f.Set { // else it returns a row of nulls where it has taken nothing
			return pipeline.TakesRows
		}
		return pipeline.TakesSome
	}
	return pipeline.TakesNothing
}

// EditReport edits a report about the plan's text.
func (p wirePlan) EditReport(m *pgproto3.ErrorResponse) bool {
	return edit(m, p.Plan.EditReport)
}

// BindTime reports whether Prelude is to be called.
func (p wirePlan) BindTime() bool { return p.preludes != nil }

// Prelude returns the prelude statement that the values make, or nil.
func (p wirePlan) Prelude(ctx context.Context, sc pipeline.StatementContext, values wire.Values) pipeline.Plan {
	if prelude := p.preludes.forBind(ctx, sc, p.Plan, values); prelude != nil {
		return wirePlan{Plan: prelude, db: p.db}
	}
	return nil
}

// What a transaction may have changed.
const (
	signalMessages pipeline.Signals = 1 << iota
	signalPosts
	signalSemaphores
)

// Signals says what a transaction that runs the plan may have changed. Where the plan has failed what it took comes back.
func (p wirePlan) Signals(ok bool) (s pipeline.Signals) {
	if p.db == nil {
		return 0
	}
	if !ok {
		if p.Takes() != pipeline.TakesNothing {
			s |= signalMessages
		}
		return s
	}
	if p.Writes() {
		s |= signalMessages
	}
	if p.Posts() {
		s |= signalPosts
	}
	if p.Plan.Signals() {
		s |= signalSemaphores
	}
	return s
}

// AfterPrepared tells the engine that a transaction has ended that PREPARE TRANSACTION had set aside.
func (r *rewriter) AfterPrepared(database string) {
	if db := r.engine.Recall(database); db != nil {
		db.NoteMessages(true)
		db.NoteSemaphores()
	}
}

// AfterTransaction tells the engine that a transaction has ended.
func (p wirePlan) AfterTransaction(s pipeline.Signals) {
	if s&signalMessages != 0 {
		p.db.NoteMessages(s&signalPosts != 0)
	}
	if s&signalSemaphores != 0 {
		p.db.NoteSemaphores()
	}
}

// edit lets f change m in the form that package rewrite knows.
func edit(m *pgproto3.ErrorResponse, f func(*plan.Report) bool) bool {
	r := plan.Report{
		Severity: m.SeverityUnlocalized,
		Code:     m.Code,
		Message:  m.Message,
		Detail:   m.Detail,
		Hint:     m.Hint,
		Where:    m.Where,
		File:     m.File,
		Position: int(m.Position),
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
