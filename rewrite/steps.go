package rewrite

import (
	"strings"

	pg_query "github.com/pganalyze/pg_query_go/v6"

	"mbusproxy/rewrite/lex"
	"mbusproxy/sqlfuncs"
)

// Step is a call whose work a statement of its own does, before the statement that holds the call;
// what stands in the call's place only reads the outcome.
type Step struct {
	Func *sqlfuncs.Func
	Name string           // as called, folded to lower case
	Args map[string]Value // all parameters, under their first names
	Call int              // the number of the call, sqlfuncs.Names.Number
	// Offset is where the call stands in the client's text, in bytes.
	Offset int
	// Guard is an expression that must be true before the step does anything, or fails; "" for none.
	Guard string
}

// stepCall is a Step as the plan keeps it: args are indexes of Plan.given.
type stepCall struct {
	fn   *sqlfuncs.Func
	name string
	call int
	stmt int // index of Plan.stmts
	// guard is Step.Guard.
	guard string
	args  map[string]int
}

// Steps returns the plan's steps in the order in which they have to be done.
func (p *Plan) Steps() []Step {
	out := make([]Step, len(p.steps))
	for i, s := range p.steps {
		guard := strings.ReplaceAll(s.guard, sqlfuncs.SecretPlace, p.secretOr())
		out[i] = Step{Func: s.fn, Name: s.name, Call: s.call, Guard: guard, Offset: p.calls[s.call-1].start, Args: make(map[string]Value, len(s.args))}
		for name, g := range s.args {
			out[i].Args[name] = p.given[g].Value
		}
	}
	return out
}

// WithSteps returns the plan for the simple protocol: the text of each step, which may be several
// statements, stands before the statement that holds the step's call. texts are in the order of Steps
// and read as the rest does, in the client's encoding; each may end in a semicolon, not in a comment
// up to the line's end. Reports about such a text point at the call.
func (p *Plan) WithSteps(texts []string) *Plan {
	q := *p
	q.steps, q.stmts, q.hidden = nil, nil, nil
	if len(p.steps) > 0 && !p.blocks {
		q.stepCall = p.steps[0].call
	}
	o := &output{}
	done, ordinal, next := 0, 0, 0
	for i, s := range p.stmts {
		o.take(p, done, s.from)
		if p.procedure(i) {
			// The step's text stands for the statement: it may only commit when it is the only one.
			o.write(texts[next], p.calls[p.steps[next].call-1].start)
			next++
			done = s.to
			ordinal++
			if len(p.stmts) == 1 {
				q.tag = "CALL"
			}
			continue
		}
		for ; next < len(p.steps) && p.steps[next].stmt == i; next++ {
			n := countStatements(texts[next], p.enc, p.escapes)
			if n > 0 {
				o.write(texts[next]+"; ", p.calls[p.steps[next].call-1].start)
			}
			for ; n > 0; n-- {
				q.hidden = append(q.hidden, ordinal)
				ordinal++
			}
		}
		o.take(p, s.from, s.to)
		done = s.to
		ordinal++
	}
	o.take(p, done, len(p.segs))
	q.sql, q.segs = o.b.String(), o.segs
	return &q
}

// Hidden returns which statements of the text are steps, counted from 0 without empty ones, as the
// server does that answers each with a CommandComplete. Their replies are not for the client.
func (p *Plan) Hidden() []int { return p.hidden }

// StepPlan returns the plan for text, which does the step of that call of p and is sent on its own.
// Errors of the engine in it point at the call, others nowhere.
func StepPlan(p *Plan, call int, text string) *Plan {
	return &Plan{client: p.client, enc: p.enc, escapes: p.escapes, sql: text, calls: p.calls, step: call, secret: p.secret}
}

// editStep makes of a report from inside of a step one about its call. The client has written nothing of
// what the report's context shows.
func (p *Plan) editStep(r *Report) bool {
	call := max(p.step, p.stepCall)
	outermost := r.Where[strings.LastIndexByte(r.Where, '\n')+1:]
	if call == 0 || !strings.Contains(outermost, "inline_code_block") {
		return false
	}
	r.Where, r.Internal = "", true
	r.Position = p.enc.charPosition(p.client, p.calls[call-1].start)
	return true
}

// countStatements counts the statements of a text that are not empty.
func countStatements(text string, enc encodingKind, escapes bool) int {
	l := lex.Lexer{Text: enc.parseable(text), Escapes: escapes}
	n, depth, empty := 0, 0, true
	for {
		t := l.Next()
		switch {
		case t.Kind == lex.End:
			return n
		case t.Kind == lex.Symbol && l.Text[t.Start] == ';' && depth == 0:
			empty = true
			continue
		case t.Kind == lex.Symbol && l.Text[t.Start] == '(':
			depth++
		case t.Kind == lex.Symbol && l.Text[t.Start] == ')':
			depth--
		}
		if empty {
			n++
		}
		empty = false
		if t.Kind == lex.Open {
			return n
		}
	}
}

// checkSteps refuses calls that are steps where Postgres would not evaluate them exactly once, which
// is all that the order of statements can say. What is inside an expression, expr decides.
func (st *statement) checkSteps(stmt *pg_query.Node) *Refusal {
	for _, c := range st.calls {
		if !c.match.Func.Step {
			continue
		}
		if where := st.unfitForSteps(stmt); where != "" {
			return refusePosition(c, where)
		}
		return nil
	}
	return nil
}

// unfitForSteps names what keeps the statement from having steps, if anything.
func (st *statement) unfitForSteps(stmt *pg_query.Node) string {
	switch stmt.Node.(type) {
	case *pg_query.Node_SelectStmt:
	case *pg_query.Node_CallStmt:
		return ""
	case *pg_query.Node_InsertStmt:
		return "INSERT"
	case *pg_query.Node_ExplainStmt:
		return "EXPLAIN"
	case *pg_query.Node_PrepareStmt:
		return "PREPARE"
	case *pg_query.Node_CopyStmt:
		return "COPY"
	case *pg_query.Node_CreateTableAsStmt:
		return "CREATE TABLE AS"
	case *pg_query.Node_DeclareCursorStmt:
		return "DECLARE CURSOR"
	default:
		return "this statement"
	}
	sel := stmt.GetSelectStmt()
	switch {
	case sel.WithClause != nil:
		return "a statement with WITH"
	case sel.Op != pg_query.SetOperation_SETOP_NONE:
		return "UNION, INTERSECT or EXCEPT"
	case len(sel.ValuesLists) > 0:
		return "VALUES"
	case sel.IntoClause != nil:
		return "SELECT INTO"
	case clauseOf(sel) != "":
		return "a SELECT with " + clauseOf(sel)
	case len(sel.FromClause) == 0:
		if hasOutside(st.isSet, sel.TargetList...) {
			return "a target list with a set"
		}
		return ""
	case len(sel.FromClause) > 1 || !st.isStepItem(sel.FromClause[0]):
		return "a SELECT from anything else"
	case has(st.isStep, sel.TargetList...):
		return "the target list of a SELECT with FROM"
	}
	return ""
}

// isStepItem reports whether an item of FROM is a call that is a step, and nothing else.
func (st *statement) isStepItem(n *pg_query.Node) bool {
	rf := n.GetRangeFunction()
	return rf != nil && !rf.IsRowsfrom && st.isStep(rf.Functions[0].GetList().GetItems()[0].GetFuncCall())
}

func (st *statement) isStep(n any) bool {
	fc, ok := n.(*pg_query.FuncCall)
	if !ok || fc == nil {
		return false
	}
	c := st.callOf(fc)
	return c != nil && c.match.Func.Step
}

// boundArgs returns the parameters of a step for which the call gives parameters of the protocol.
func (c *call) boundArgs() []sqlfuncs.Param {
	if !c.match.Func.Step {
		return nil
	}
	var out []sqlfuncs.Param
	for _, p := range c.match.Func.Visible() {
		if c.values[p.Name].Param > 0 {
			out = append(out, p)
		}
	}
	return out
}

func (st *statement) stepsBelow(n *pg_query.Node) bool { return has(st.isStep, n) }

// isSet knows our own functions that yield sets, and the usual ones of Postgres by name. What stands
// beside a set is evaluated once for each of its rows.
func (st *statement) isSet(n any) bool {
	fc, ok := n.(*pg_query.FuncCall)
	if !ok {
		return false
	}
	if c := st.callOf(fc); c != nil {
		return c.match.Func.Set
	}
	switch strings.ToLower(nameOf(fc.Funcname[len(fc.Funcname)-1])) {
	case "generate_series", "generate_subscripts", "unnest", "regexp_matches", "regexp_split_to_table", "string_to_table",
		"json_array_elements", "json_array_elements_text", "jsonb_array_elements", "jsonb_array_elements_text",
		"json_each", "json_each_text", "jsonb_each", "jsonb_each_text", "json_object_keys", "jsonb_object_keys",
		"jsonb_path_query", "each", "skeys", "svals":
		return true
	}
	return false
}
