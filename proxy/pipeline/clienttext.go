package pipeline

import (
	"context"
	"encoding/binary"

	"mbusproxy/proxy/wire"
)

func (f *ClientFlow) query(ctx context.Context, body []byte) []byte {
	text, rest, ok := wire.CString(body)
	if !ok || len(rest) > 0 {
		f.push(owedQuery, nil) // malformed: the server says so
		return nil
	}
	plan := f.plan(ctx, text, true, nil)
	if !f.planned {
		f.push(owedQuery, nil)
		return nil
	}
	a := &about{plan: plan, drops: deallocatedNames(text)}
	if f.late != nil {
		deeds, ok := f.late.acted(f.acts(text), true)
		if !ok {
			plan = tooManyActs()
			a.plan = plan
		}
		a.deeds = deeds
	}
	if plan == nil {
		f.push(owedQuery, a)
		return nil
	}
	a.hide, a.tag = plan.Hidden(), plan.Tag()
	f.push(owedQuery, a)
	return wire.AppendFrame(nil, wire.MsgQuery, []byte(plan.SQL()), []byte{0})
}

func (f *ClientFlow) parse(ctx context.Context, body []byte) []byte {
	name, rest, ok := wire.CString(body)
	if !ok {
		f.push(owedParse, nil)
		return nil
	}
	text, types, ok := wire.CString(rest)
	if !ok {
		f.push(owedParse, nil)
		return nil
	}
	voids := voidParams(types)
	plan := f.plan(ctx, text, false, voids)
	if !f.planned {
		f.push(owedParse, nil)
		return nil
	}
	a := &about{plan: plan, statement: nameKey(name), drops: deallocatedNames(text)}
	if f.latePlan(plan); f.late != nil {
		acts := f.acts(text)
		if f.late.crowded(a.statement, plan, acts) {
			plan, acts = tooManyStatements(), nil
			a.plan = plan
		}
		a.deeds = f.late.parsed(a.statement, plan, voids, acts)
	}
	f.push(owedParse, a)
	if plan == nil {
		return nil
	}
	return wire.AppendFrame(nil, wire.MsgParse, name, []byte{0}, []byte(plan.SQL()), []byte{0}, types)
}

// plan asks the Rewriter about text; voids is what a Parse says of its parameters.
func (f *ClientFlow) plan(ctx context.Context, text []byte, simple bool, voids []int) Plan {
	if !f.rewriter.Mentions(text) {
		return nil
	}
	plan := f.rewritten(ctx, f.context(simple, voids), string(text))
	if plan != nil {
		f.planned = true
	}
	return plan
}

func (f *ClientFlow) context(simple bool, voids []int) StatementContext {
	set := f.reads()
	return StatementContext{
		User: f.user, Database: f.database, Encoding: set.TextEncoding(), EscapeStrings: set.EscapeStrings,
		Secret: f.secret, Simple: simple, VoidParams: voids, Answer: f.answer(),
	}
}

// acts is actsOf with the session's settings.
func (f *ClientFlow) acts(text []byte) []act {
	return actsOf(text, f.reads().EscapeStrings)
}

// oidVoid is VOIDOID of the server's pg_type.
const oidVoid = 2278

// voidParams returns the numbers of the parameters that the end of a Parse declares as void.
func voidParams(types []byte) (numbers []int) {
	if len(types) < 2 {
		return nil
	}
	count := int(binary.BigEndian.Uint16(types))
	for i, rest := 1, types[2:]; i <= count && len(rest) >= 4; i, rest = i+1, rest[4:] {
		if binary.BigEndian.Uint32(rest) == oidVoid {
			numbers = append(numbers, i)
		}
	}
	return numbers
}
