package pipeline

import (
	"context"
	"encoding/binary"

	"mbusproxy/proxy/pipeline/names"
	"mbusproxy/proxy/pipeline/refuse"
	"mbusproxy/proxy/pipeline/requests"
	"mbusproxy/proxy/statements"
	"mbusproxy/proxy/wire"
)

// query notes a Query and returns what takes its place where it has a Plan; else nil.
func (f *ClientFlow) query(ctx context.Context, body []byte) []byte {
	query, rest, ok := wire.CString(body)
	if !ok || len(rest) > 0 {
		f.push(requests.Query, nil) // malformed: the server says so
		return nil
	}
	plan := f.plan(ctx, query, true, false, nil)
	if f.refused != nil {
		plan, f.refused = f.refused, nil
	}
	if !f.planned {
		f.push(requests.Query, nil)
		return nil
	}
	if f.awaitedQuery {
		return f.runAwaited(plan)
	}
	if prepared := f.runPrepared(plan); prepared != nil {
		return prepared
	}
	f.forgetPrepared(query)
	a := &details{plan: plan}
	effects, known := f.effects(query)
	switch {
	case known:
		a.Bindings = f.noteEffects(effects, true)
	case f.bindTime != nil && f.names.Matter():
		plan = refuse.TooManyEffects(len(effects))
		a.plan = plan
	default:
		a.Text = &names.Text{Unread: true}
	}
	if plan == nil {
		f.push(requests.Query, a)
		return nil
	}
	a.plan = sent(plan)
	a.hiddenTags, a.tag, a.trace = plan.HiddenTags(), plan.Tag(), traceQuery(a.plan)
	f.push(requests.Query, a)
	return f.textFrame(wire.MsgQuery, nil, plan, nil)
}

// parse notes a Parse and returns what takes its place where it has a Plan; else nil.
func (f *ClientFlow) parse(ctx context.Context, body []byte) []byte {
	name, rest, ok := wire.CString(body)
	if !ok {
		f.push(requests.Parse, nil)
		return nil
	}
	query, types, ok := wire.CString(rest)
	if !ok {
		f.push(requests.Parse, nil)
		return nil
	}
	f.forgetPrepared(query)
	voids := voidParams(types)
	plan := f.plan(ctx, query, false, len(name) > 0, voids)
	if !f.planned {
		f.push(requests.Parse, nil)
		return nil
	}
	a := &details{Use: names.Use{Statement: names.Key(name)}}
	a.trace = f.traceParse(a.Statement, plan)
	f.noteValueSignals(a.Statement, plan, types)
	var replacement []byte
	if len(name) == 0 {
		if replacement = f.repeatParse(plan, query, types, a); replacement == nil {
			f.parsesUnnamed(a)
		}
	}
	from := &names.Text{Plan: plan}
	if from.BindTime() != nil {
		from.Voids = voids
	} else {
		from.Plan = sent(plan)
	}
	if effects, known := f.effects(query); !known {
		from.Unread = true
	} else if len(effects) > 0 { // a Parse with several statements fails
		from.Effect = &effects[0]
	}
	if f.followNames(plan); f.bindTime != nil {
		if !f.names.RoomForStatement(a.Statement, from) {
			plan = refuse.TooManyStatements(names.MaxStatements, names.MaxStatementsSize)
			from = &names.Text{Plan: plan}
		}
		a.Bindings = f.names.Note(&names.Binding{Name: a.Statement, Segment: f.bindTime.segment, Text: from})
	}
	if a.plan = from.Plan; from.Memory() > 0 {
		a.Text = from
	}
	f.push(requests.Parse, a)
	f.unsent.clean = replacement != nil
	if plan == nil || replacement != nil {
		return replacement
	}
	return f.textFrame(wire.MsgParse, body[:len(name)+1], plan, types)
}

// textFrame is a message with a plan's text, which is valid to the next one or to the end of the feed.
func (f *ClientFlow) textFrame(kind byte, head []byte, plan statements.Plan, tail []byte) (made []byte) {
	if long, ok := plan.(statements.LongPlan); ok && plan.Size() > wire.MaxNames {
		made = wire.AppendTextFrame(f.made[:0], kind, head, plan.Size(), long.AppendSQL, tail)
	} else {
		sql := plan.SQL()
		made = wire.AppendTextFrame(f.made[:0], kind, head, len(sql), func(b []byte) []byte { return append(b, sql...) }, tail)
	}
	if f.made = made; len(made) > wire.MaxNames {
		f.made = nil // it is handed on: see Splicer.Replace
	}
	return made
}

// sent is what is kept of a plan when the server has its text.
func sent(plan statements.Plan) statements.Plan {
	if plan == nil || plan.Size() <= wire.MaxNames { // what Sent returns is another one, which takes memory
		return plan
	}
	if long, ok := plan.(statements.LongPlan); ok {
		return long.Sent()
	}
	return plan
}

// recall asks the Rewriter for the Plan of a Query or Parse that Mentions is true of, if that takes no time.
func (f *ClientFlow) recall(frame []byte) bool {
	recaller, ok := f.rewriter.(statements.Recaller)
	if !ok || len(frame) > 2*wire.MaxNames || f.probing.answered != nil || f.probing.canceled || f.asksProcess(frame) || f.unsure(frame) {
		return false
	}
	text, named, voids, ok := textOf(frame)
	if ok {
		sc := f.context(frame[0] == wire.MsgQuery, voids)
		sc.Named = named
		f.recalled, ok = recaller.Recall(sc, text)
	}
	return ok
}

// textOf returns the text of a whole Query or Parse, with what statements.Context has of it; false
// for one that is malformed.
func textOf(frame []byte) (text []byte, named bool, voids []int, ok bool) {
	text, rest, ok := wire.CString(frame[wire.HeaderSize:])
	if frame[0] == wire.MsgQuery {
		return text, false, nil, ok && len(rest) == 0
	}
	named = len(text) > 0
	if text, rest, ok = wire.CString(rest); ok {
		voids = voidParams(rest)
	}
	return text, named, voids, ok
}

// plan returns the Plan that the Rewriter has for a text, or nil; simple, named and voids are as in statements.Context.
func (f *ClientFlow) plan(ctx context.Context, text []byte, simple, named bool, voids []int) statements.Plan {
	plan := f.recalled
	if plan == nil && !f.asked {
		if !f.rewriter.Mentions(text) {
			return nil
		}
		sc := f.context(simple, voids)
		sc.Named = named
		plan = f.rewritten(ctx, sc, string(text))
	}
	if f.held && !f.awaitedQuery && f.atHand.Spend() {
		plan = refuse.Canceled()
	}
	if plan != nil {
		f.planned = true
	}
	return plan
}

// context is what the Rewriter is told of the session.
func (f *ClientFlow) context(simple bool, voids []int) statements.Context {
	set := f.reads()
	return statements.Context{
		User: f.user, Database: f.database, Encoding: set.TextEncoding(), EscapeStrings: set.EscapeStrings,
		Began: f.began, Secret: f.secret, Simple: simple, VoidParams: voids, Answer: f.answer(),
	}
}

// effects asks the Rewriter what the statements of a text do to names; known is false when they are too many, or
// when the settings under which the session will read the text are not known.
func (f *ClientFlow) effects(text []byte) (effects []statements.Effect, known bool) {
	if !f.rewriter.MayHaveEffects(text) {
		return nil, true
	}
	if f.bindTime == nil && f.varies(text) { // without it only error positions are lost, which is no reason for a probe query
		return nil, false
	}
	effects, more := f.rewriter.Effects(f.context(false, nil), string(text))
	return effects, !more
}

// noteEffects notes what the statements of a Query or of a portal do to names.
func (f *ClientFlow) noteEffects(effects []statements.Effect, simple bool) []*names.Binding {
	if len(effects) == 0 {
		return nil
	}
	like := names.Binding{Simple: simple}
	if f.bindTime != nil {
		like.Segment, like.Doubtful = f.bindTime.segment, f.bindTime.unsynced
		for i := range effects {
			if effects[i].Name == "" {
				f.names.RebindAny()
			}
		}
	}
	return f.names.NoteEffects(effects, like)
}

// Types of the server's pg_type; oidUnspecified lets the server decide.
const (
	oidUnspecified = 0
	oidText        = 25
	oidVarchar     = 1043
	oidVoid        = 2278
)

// declaredType returns the type that the end of a Parse declares for parameter n; false: it declares
// none for that one and those that follow.
func declaredType(types []byte, n int) (oid uint32, ok bool) {
	const count, size = 2, 4
	at := count + size*(n-1)
	if len(types) < at+size || n > int(binary.BigEndian.Uint16(types)) {
		return oidUnspecified, false
	}
	return binary.BigEndian.Uint32(types[at:]), true
}

// voidParams returns the numbers of the parameters that the end of a Parse declares as void.
func voidParams(types []byte) (numbers []int) {
	for n := 1; ; n++ {
		switch oid, ok := declaredType(types, n); {
		case !ok:
			return numbers
		case oid == oidVoid:
			numbers = append(numbers, n)
		}
	}
}
