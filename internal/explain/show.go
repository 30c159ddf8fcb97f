package explain

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"mbusproxy/engine/calls"
	"mbusproxy/internal/layout"
	"mbusproxy/rewrite/lex"
	"mbusproxy/rewrite/plan"
	"mbusproxy/rewrite/splice"
	"mbusproxy/sqlfuncs"
)

// remark writes text as comments of SQL. To the server a carriage return ends one, too.
func (e *explainer) remark(format string, args ...any) {
	text := strings.NewReplacer("\r\n", "\n", "\r", "\n").Replace(fmt.Sprintf(format, args...))
	for _, line := range strings.Split(text, "\n") {
		e.out.WriteString(strings.TrimRight("-- "+line, " ") + "\n")
	}
}

// sql writes statements, laid out, and returns what it has written.
func (e *explainer) sql(text string) (shown string) {
	shown = laidOut(text)
	e.out.WriteString(shown)
	return shown
}

// laidOut returns the statements of a text, each of which ends with a semicolon and the end of a line.
func laidOut(text string) string {
	var b strings.Builder
	for _, statement := range splitStatements(text) {
		laidOut, _ := layout.SQL(statement)
		b.WriteString(laidOut + ";\n")
	}
	return b.String()
}

// splitStatements returns the statements of a text without the semicolons.
func splitStatements(text string) (out []string) {
	l := lex.Lexer{Text: text}
	start, depth := 0, 0
	cut := func(end int) {
		if s := strings.TrimSpace(text[start:end]); s != "" {
			out = append(out, s)
		}
	}
	for t := l.Next(); t.Kind != lex.End && t.Kind != lex.Open; t = l.Next() {
		switch text[t.Start:t.End] {
		case "(":
			depth++
		case ")":
			depth--
		case ";":
			if depth == 0 {
				cut(t.Start)
				start = t.End
			}
		}
	}
	cut(len(text))
	return out
}

// place names a byte of the text.
func (e *explainer) place(offset int) string {
	line, column := e.lineOf(offset)
	return fmt.Sprintf("line %d, column %d", line, column)
}

// explained is what is known of one statement.
type explained struct {
	refusals  []*plan.Refusal
	calls     []plan.Call
	selectors []plan.Value
	prelude   bool        // a call needs a prelude statement
	inline    splice.Text // the plan's text before prelude statements are put into it
	from, to  int         // where the statement is in inline
	sql       string      // what the server gets
	prepared  *plan.Prepared
}

// show writes what a plan makes of each statement. The error is the first refusal.
func (e *explainer) show(ctx context.Context, p *plan.Plan) error {
	original := p
	p = e.preludes().CheckLiterals(ctx, e.context(), p)
	p, made := e.makePreludes(ctx, p)
	if len(made.calls) > 0 && !e.session.Prepared {
		p = p.WithPreludes(made.calls)
	}
	list := e.describe(original, p)
	for i, s := range list {
		if len(list) > 1 {
			e.out.WriteString("\n")
			e.remark("statement %d", i+1)
		}
		e.showStatement(s, made, p.Waits())
	}
	if refusals := p.Refused(); len(refusals) > 0 {
		return refused(refusals[0])
	}
	return nil
}

// describe sorts what two plans know by statements: original is the one before refusals and prelude statements.
func (e *explainer) describe(original, p *plan.Plan) []explained {
	list := make([]explained, len(e.statements))
	for _, r := range p.Refused() {
		s := &list[e.statementAt(r.Offset)]
		s.refusals = append(s.refusals, r)
	}
	for _, c := range original.Calls() {
		s := &list[e.statementAt(c.Start)]
		s.calls = append(s.calls, c)
		s.prelude = s.prelude || c.Func.Prelude
	}
	for _, v := range original.Selectors() {
		s := &list[e.statementAt(v.Offset)]
		s.selectors = append(s.selectors, v)
	}
	before, after := e.pieces(original.Text()), e.pieces(p.Text())
	for i := range list {
		s := &list[i]
		s.inline, s.from, s.to = original.Text(), before[i].Start, before[i].End
		s.sql = p.Text().SQL[after[i].Start:after[i].End]
		s.prepared = p.Prepared()
	}
	return list
}

// pieces returns where the statements of the client's text are in one for the server.
func (e *explainer) pieces(text splice.Text) []lex.Span {
	out := make([]lex.Span, len(e.statements))
	l := lex.Lexer{Text: text.SQL}
	for t := l.Next(); t.Kind != lex.End && t.Kind != lex.Open; t = l.Next() {
		in, _ := text.Origin(t.Start)
		s := &out[e.statementAt(in)]
		if s.End == 0 {
			s.Start = t.Start
		}
		s.End = t.End
	}
	return out
}

// showStatement writes everything about one statement. What is to be told of a statement as a whole has its line here.
func (e *explainer) showStatement(s explained, made preludes, waits bool) {
	told := e.add(outcomeServed)
	if len(s.refusals) > 0 {
		for _, r := range s.refusals {
			e.showRefusal(r)
			told.refuse(e, r)
		}
		e.remark("the server gets:")
		told.SQL = e.sql(s.sql)
		return
	}
	if len(s.calls) == 0 {
		e.remark("forwarded as it is: %s", noCall)
		told.Outcome, told.SQL = outcomeForwarded, laidOut(s.sql)
		return
	}
	functions := functionsIn(s.inline, s.from, s.to)
	for _, c := range s.calls {
		signature, how := c.Func.Signature(c.Name), served(c, functions)
		e.remark("%s: %s", e.place(c.Start), signature)
		e.remark("  %s", how)
		line, column := e.lineOf(c.Start)
		told.Calls = append(told.Calls, call{line, column, signature, how})
	}
	if len(functions) > 0 {
		e.remark("in place, since where a call stands only the server knows whether and how often it runs, or no query may stand;")
		e.remark("with one such call all of the statement that change something are served so: docs/interception.md")
	}
	for _, v := range s.selectors {
		what, when := cmp.Or(v.Checked, "selector"), "before the statement runs"
		if len(v.Parameters()) > 0 {
			when = "whenever the statement is bound"
		}
		e.remark("%s: the %s is checked %s", e.place(v.Offset), what, when)
		line, column := e.lineOf(v.Offset)
		told.Checked = append(told.Checked, checked{line, column, what, when})
	}
	if !e.session.Prepared && takesParameters(e.text) {
		const hint = "a Query can have no parameters: with --prepared the text is one of a Parse"
		e.remark("%s", hint)
		told.Remarks = append(told.Remarks, hint)
	}
	if s.prelude && e.session.Prepared {
		e.showPreludes(made, told)
	}
	if told.Waits = waits; waits {
		e.remark("the call waits: the proxy holds the statement back, and looks with a query of its own whether there is a message, as often as there may be one.")
		e.remark("What it finds it locks, and in the same transaction")
	}
	e.showPrepared(s, told)
	e.remark("the server gets:")
	told.SQL = e.sql(s.sql)
}

// showPrepared writes by which statement the text is run once it has been sent again and again.
func (e *explainer) showPrepared(s explained, told *statement) {
	if s.prepared == nil || e.session.Prepared {
		return
	}
	told.Parameters = append([]string{}, s.prepared.Values()...)
	parameters := "without parameters"
	for i, v := range s.prepared.Values() {
		if i == 0 {
			parameters = "in which these literals are parameters: "
		} else {
			parameters += ", "
		}
		parameters += sqlfuncs.QuoteLiteral(v)
	}
	e.remark("sent again and again, it is run by a statement that is prepared in the session, %s", parameters)
}

// showPreludes writes the prelude statement of a text that comes in a Parse.
func (e *explainer) showPreludes(made preludes, told *statement) {
	if len(made.parameters) == 0 {
		e.remark("whenever it is bound, before it is executed:")
		before := ""
		for _, statement := range slices.Concat(made.calls...) {
			before += e.sql(statement)
		}
		told.Before = &before
		return
	}
	names := make([]string, len(made.parameters))
	for i, n := range made.parameters {
		names[i] = fmt.Sprintf("$%d", n)
	}
	what := "whenever it is bound, before it is executed, the server gets a statement made with the values of " + strings.Join(names, ", ")
	e.remark("%s", what)
	told.Remarks = append(told.Remarks, what)
}

// showRefusal writes the error that the client gets.
func (e *explainer) showRefusal(r *plan.Refusal) {
	e.remark("%s: refused, the client gets", e.place(r.Offset))
	e.remark("ERROR:  %s: %s", r.Code, r.Message)
	if r.Detail != "" {
		e.remark("DETAIL:  %s", r.Detail)
	}
	if r.Hint != "" {
		e.remark("HINT:  %s", r.Hint)
	}
}

// functionIn is a function of the database that serves calls, in a text for the server.
type functionIn struct {
	name   string // without the schema
	anchor int    // of which byte of the client's text it is
}

// functionsIn lists these functions between two places of a text. A call of the client's own of
// such a function is none.
func functionsIn(text splice.Text, from, to int) (out []functionIn) {
	const prefix = sqlfuncs.Schema + "." + calls.FunctionPrefix
	for at := from; ; {
		i := strings.Index(text.SQL[at:to], prefix)
		if i < 0 {
			return out
		}
		at += i
		end := at + len(prefix)
		for end < to && lex.InWord(text.SQL[end]) {
			end++
		}
		name := text.SQL[at+len(sqlfuncs.Schema)+1 : end]
		if anchor, copied := text.Origin(at); !copied && !calls.IsHelper(name) {
			out = append(out, functionIn{name, anchor})
		}
		at = end
	}
}

// served says how a call is served, where those functions serve calls of its statement.
func served(c plan.Call, functions []functionIn) string {
	if c.Func.Prelude {
		return "by a statement of its own, which runs first"
	}
	// Calls that share rows share the function, which stands for the first of them.
	i := slices.IndexFunc(functions, func(f functionIn) bool { return f.anchor == c.Start })
	if i < 0 {
		i = slices.IndexFunc(functions, func(f functionIn) bool {
			return strings.HasPrefix(f.name, calls.FunctionPrefix+c.Func.Serves+"_")
		})
	}
	switch {
	case i >= 0:
		return "in place, by the function " + sqlfuncs.Schema + "." + functions[i].name
	case c.Func.Effect == sqlfuncs.Writes:
		return "inline, by WITH queries"
	}
	return "inline, by an expression"
}

// takesParameters reports whether a text has parameters, such as $1.
func takesParameters(text string) bool {
	l := lex.Lexer{Text: text}
	for t := l.Next(); t.Kind != lex.End && t.Kind != lex.Open; t = l.Next() {
		if t.Kind == lex.Param {
			return true
		}
	}
	return false
}
