package place

import (
	stdcontext "context"
	"errors"
	"fmt"
	"slices"
	"sort"
	"strings"

	pg_query "github.com/pganalyze/pg_query_go/v6"
	"google.golang.org/protobuf/reflect/protoreflect"

	"mbusproxy/rewrite/detect"
	"mbusproxy/rewrite/find"
	"mbusproxy/rewrite/lex"
	"mbusproxy/rewrite/parse"
	"mbusproxy/rewrite/plan"
	"mbusproxy/rewrite/splice"
	"mbusproxy/rewrite/tree"
	"mbusproxy/sqlfuncs"
)

// Document is a text that was parsed, with its calls. nil stands for a text that holds none and names no table of the
// schema, and for one that does not parse.
type Document struct {
	tree  *pg_query.ParseResult
	src   *tree.Source
	calls [][]*call // by statement
	lease *parse.Lease

	skeleton string
	prepared bool
	traced   int // sqlfuncs.Use.Traced
}

// Release gives the turn at the parser to others. A document that IsLong must not be used any more.
func (d *Document) Release() {
	if d != nil {
		d.lease.Release()
	}
}

// Resume waits for a turn again, in which a document that was released, and is not long, is rewritten.
func (d *Document) Resume(ctx stdcontext.Context) error { return d.lease.Resume(ctx) }

// IsLong reports whether the document takes so much memory that it must not be kept while anything is waited for.
func (d *Document) IsLong() bool { return d != nil && d.lease.Long() }

// Read parses a text and finds its calls. Those without the schema that may be ours are among them;
// see Settle. Errors are those of the parser's bounds and line.
func Read(ctx stdcontext.Context, parser *parse.Parser, text string, session plan.Session, unqualified *detect.Unqualified) (*Document, error) {
	d := &Document{prepared: session.Prepared, traced: session.TraceWidth()}
	enc := lex.EncodingOf(session.Encoding)
	parsed := enc.Parseable(text)
	holding := detect.Holds(parsed, session.EscapeStrings, unqualified)
	if holding.Calls == 0 && !holding.Table {
		return nil, nil
	}
	if session.EscapeStrings {
		parsed = lex.PlainStrings(parsed)
	}
	kept := false
	defer func() { // also in a panic, which ends only the session
		if !kept {
			d.Release()
		}
	}()
	var err error
	if d.lease, err = parser.Lease(ctx, parsed, holding.Calls); err == nil {
		err = d.parse(ctx, text, parsed, enc, session, unqualified)
	}
	if err == nil {
		kept = true
		return d, nil
	}
	if errors.As(err, new(*parse.SyntaxError)) || holding.Calls == 0 {
		return nil, nil // the server says what is wrong with it
	}
	return nil, err
}

// parse makes the tree, the tokens and the calls.
func (d *Document) parse(ctx stdcontext.Context, text, parsed string, enc lex.Encoding, session plan.Session, unqualified *detect.Unqualified) (err error) {
	if d.tree, err = d.lease.Parse(ctx, parsed); err != nil {
		return err
	}
	d.skeleton, _ = lex.Skeleton(text, enc, session.EscapeStrings)
	if d.src, err = tree.Scan(text, parsed, enc, session.EscapeStrings); err != nil {
		return &parse.SyntaxError{Message: err.Error()}
	}
	for _, raw := range d.tree.Stmts {
		served := unqualified
		if _, ok := tree.Evaluates(raw.Stmt); !ok {
			served = nil // what the statement stores, the server must read
		}
		var calls []*call
		for _, c := range find.Calls(d.src, raw.ProtoReflect(), session.Void, served) {
			calls = append(calls, &call{Call: c})
		}
		sort.Slice(calls, func(i, j int) bool { return calls[i].Start < calls[j].Start })
		calls = slices.CompactFunc(calls, func(a, b *call) bool { return a.Span == b.Span }) // see callOf
		d.calls = append(d.calls, calls)
	}
	return nil
}

// HasCalls reports whether the text holds calls of ours.
func (d *Document) HasCalls() bool {
	return d != nil && slices.ContainsFunc(d.calls, func(calls []*call) bool { return len(calls) > 0 })
}

// UsesSchema reports whether the text reads or writes a table or view of the schema and names the
// schema, as in insert into mbus4.work_queue, or calls a function of the schema that is not served.
func (d *Document) UsesSchema() bool {
	if d == nil {
		return false
	}
	found := false
	for _, raw := range d.tree.Stmts {
		if _, ok := tree.Evaluates(raw.Stmt); !ok || raw.Stmt.GetCopyStmt() != nil && raw.Stmt.GetCopyStmt().Query == nil {
			continue // it may be a dump that is being restored, which makes the tables itself
		}
		tree.Walk(raw.ProtoReflect(), func(m protoreflect.Message) bool {
			switch n := m.Interface().(type) {
			case *pg_query.RangeVar:
				found = found || n.Schemaname == sqlfuncs.Schema
			case *pg_query.FuncCall:
				found = found || len(n.Funcname) == 2 && tree.NameOf(n.Funcname[0]) == sqlfuncs.Schema
			}
			return !found
		})
	}
	return found
}

// noteRelations tells the plan which relations that are not the schema's the text names.
func (d *Document) noteRelations(p *plan.Builder) {
	for _, raw := range d.tree.Stmts {
		tree.Walk(raw.ProtoReflect(), func(m protoreflect.Message) bool {
			v, ok := m.Interface().(*pg_query.RangeVar)
			if ok && v.Schemaname != sqlfuncs.Schema {
				p.AddRelation(v.Relname)
			}
			return true
		})
	}
}

// Rewrite places the calls of all statements and returns the plan. The document has its turn.
func (d *Document) Rewrite(ctx stdcontext.Context, env plan.Env, fragments Fragments) *plan.Plan {
	src := d.src
	p := plan.NewBuilder(src.Text, src.Enc, src.Escapes)
	d.noteRelations(p)
	prefix := freePrefix(d.skeleton) // what stands in a literal is no name
	ed := splice.NewEdits(src.Text)
	pieces := make([]plan.Piece, len(d.tree.Stmts))
	for i, raw := range d.tree.Stmts {
		reg := src.Statement(raw)
		pieces[i].Span = src.Span(reg.First, reg.End)
		if len(d.calls[i]) == 0 {
			continue
		}
		for _, c := range d.calls[i] {
			switch {
			case c.Match.Func.Signals: // it changes no message: whoever is told of it may post
				p.UseSignals()
			case c.Match.Func.Effect == sqlfuncs.Writes || c.Match.Func.Effect == sqlfuncs.Native:
				p.UseWrites()
			}
			switch c.Match.Func.Serves {
			case "post":
				p.UsePosts()
			case "create_trigger", "create_temporary_consumer":
				p.UseTriggers()
			}
		}
		st := &statement{
			src:       src,
			ed:        ed,
			plan:      p,
			fragments: fragments,
			prefix:    prefix,
			env:       env,
			traced:    d.traced,
			calls:     d.calls[i],
			parse:     func(text string) (*pg_query.ParseResult, error) { return d.lease.Parse(ctx, text) },
		}
		st.indexCalls(raw.Stmt)
		mark, placed := ed.Mark(), p.Calls()
		refusal := checkNesting(d.calls[i])
		if refusal == nil {
			refusal = st.guardCalls(raw.Stmt, d.prepared || len(d.tree.Stmts) > 1)
		}
		if refusal == nil {
			refusal = st.place(raw.Stmt, reg)
		}
		if refusal != nil && refusal.Place && st.many && st.checked {
			p.ForgetCalls(placed)
			ed.Cut(mark)
			if again := st.inRows(raw.Stmt, reg); again == nil {
				refusal = nil
			}
		}
		if refusal != nil && refusal.Place {
			p.ForgetCalls(placed)
			ed.Cut(mark)
			refusal = st.inPlace(raw.Stmt, refusal)
		}
		if refusal == nil {
			refusal = st.checkWaits(raw.Stmt, len(d.tree.Stmts) == 1)
		}
		if refusal != nil {
			ed.Cut(mark)
			ed.Add(pieces[i].Span, p.Refuse(refusal))
			continue
		}
		st.keepValues(i)
	}
	o := &splice.Output{}
	pos := 0
	for i := range pieces {
		s := &pieces[i]
		ed.Copy(o, pos, s.Start)
		s.From = o.Pieces()
		ed.Render(o, s.Span)
		s.To, pos = o.Pieces(), s.End
	}
	ed.Copy(o, pos, len(src.Text))
	return p.Finish(o.Text(), pieces)
}

// freePrefix returns a prefix for the names of our WITH queries. It occurs nowhere in text.
func freePrefix(text string) string {
	prefix := "mbus4_"
	for i := 1; strings.Contains(text, prefix); i++ {
		prefix = fmt.Sprintf("mbus4x%d_", i)
	}
	return prefix
}

// candidate describes a call without the schema.
func (c *call) candidate() detect.Candidate {
	k := detect.Candidate{Name: c.Match.Name, Args: len(c.List)}
	for _, a := range c.List {
		if na := a.GetNamedArgExpr(); na != nil {
			k.Named = append(k.Named, na.Name)
		}
	}
	slices.Sort(k.Named)
	return k
}

// Candidates returns the candidates among the document's calls, each once, in the order of the text.
func (d *Document) Candidates() []detect.Candidate {
	var out []detect.Candidate
	for _, calls := range d.calls {
		for _, c := range calls {
			if k := c.candidate(); c.Unqualified && !slices.ContainsFunc(out, k.Equal) {
				out = append(out, k)
			}
		}
	}
	return out
}

// Settle drops the calls without the schema that are not ours. answer has a 1 in the place of each candidate that is.
func (d *Document) Settle(answer string) {
	if d == nil {
		return
	}
	known := d.Candidates()
	for i := range d.calls {
		d.calls[i] = slices.DeleteFunc(d.calls[i], func(c *call) bool {
			if !c.Unqualified {
				return false
			}
			n := slices.IndexFunc(known, c.candidate().Equal)
			return n >= len(answer) || answer[n] != '1'
		})
	}
}
