package rewrite

import (
	stdcontext "context"
	"errors"
	"fmt"
	"slices"
	"sort"
	"strings"

	pg_query "github.com/pganalyze/pg_query_go/v6"
	"google.golang.org/protobuf/reflect/protoreflect"

	"mbusproxy/rewrite/parse"
	"mbusproxy/sqlfuncs"
)

// document is a text that parses, with its calls. nil stands for one that does not.
type document struct {
	tree   *pg_query.ParseResult
	src    *source
	calls  [][]*call // by statement
	parser *parse.Parser
	lease  *parse.Lease

	skeleton string
	prepared bool
}

// release gives the turn at the parser to others. What isLong must not be used any more.
func (d *document) release() {
	if d != nil {
		d.lease.Release()
	}
}

// isLong reports whether so much memory hangs on the document that it must not wait for anything.
func (d *document) isLong() bool { return d != nil && d.lease.Long() }

// readDocument finds the calls in a text, unqualified ones that may be ours included. Errors are those of the
// parser's bounds and budget.
func readDocument(ctx stdcontext.Context, parser *parse.Parser, text string, session Session, unqualified *Unqualified) (*document, error) {
	d := &document{parser: parser, prepared: session.Prepared}
	enc := kindOf(session.Encoding)
	parsed := enc.parseable(text)
	holding := holds(parsed, session.EscapeStrings, unqualified)
	if holding.calls == 0 && !holding.table {
		return nil, nil
	}
	if session.EscapeStrings {
		parsed = plainStrings(parsed)
	}
	kept := false
	defer func() { // in a panic, too, which ends the session only
		if !kept {
			d.release()
		}
	}()
	var err error
	if d.lease, err = parser.Lease(ctx, parsed, holding.calls); err == nil {
		err = d.parse(text, parsed, enc, session, unqualified)
	}
	if err == nil {
		kept = true
		return d, nil
	}
	if errors.As(err, new(*parse.SyntaxError)) || holding.calls == 0 {
		return nil, nil // it is left to the server
	}
	return nil, err
}

// parse makes the tree, the tokens and the calls.
func (d *document) parse(text, parsed string, enc encodingKind, session Session, unqualified *Unqualified) (err error) {
	if d.tree, err = d.lease.Parse(parsed); err != nil {
		return err
	}
	d.skeleton, _ = skeleton(text, enc, session.EscapeStrings)
	if d.src, err = scan(text, parsed, enc, session.EscapeStrings); err != nil {
		return &parse.SyntaxError{Message: err.Error()}
	}
	for _, raw := range d.tree.Stmts {
		served := unqualified
		if _, ok := evaluated(raw.Stmt); !ok {
			served = nil // what is stored is left to the server
		}
		calls := findCalls(d.src, raw.ProtoReflect(), session.Void, served)
		sort.Slice(calls, func(i, j int) bool { return calls[i].start < calls[j].start })
		calls = slices.CompactFunc(calls, func(a, b *call) bool { return a.span == b.span }) // see callOf
		d.calls = append(d.calls, calls)
	}
	return nil
}

func (d *document) hasCalls() bool {
	return d != nil && slices.ContainsFunc(d.calls, func(calls []*call) bool { return len(calls) > 0 })
}

// usesTables reports whether the text reads or writes a table or view of the schema by its full name, as
// in insert into mbus4.work_queue.
func (d *document) usesTables() bool {
	if d == nil {
		return false
	}
	found := false
	for _, raw := range d.tree.Stmts {
		if _, ok := evaluated(raw.Stmt); !ok || raw.Stmt.GetCopyStmt() != nil && raw.Stmt.GetCopyStmt().Query == nil {
			continue // a dump that is being restored makes the tables itself
		}
		walkMessages(raw.ProtoReflect(), func(m protoreflect.Message) bool {
			v, ok := m.Interface().(*pg_query.RangeVar)
			found = found || ok && v.Schemaname == sqlfuncs.Schema
			return !found
		})
	}
	return found
}

// ownRelations lists the relations that the text names, but for those of the schema, as far as they bear one
// of names.
func (d *document) ownRelations(names []string) []string {
	var out []string
	for _, raw := range d.tree.Stmts {
		walkMessages(raw.ProtoReflect(), func(m protoreflect.Message) bool {
			v, ok := m.Interface().(*pg_query.RangeVar)
			if ok && v.Schemaname != sqlfuncs.Schema && slices.Contains(names, v.Relname) && !slices.Contains(out, v.Relname) {
				out = append(out, v.Relname)
			}
			return true
		})
	}
	return out
}

// rewrite places and splices the calls of all statements.
func (d *document) rewrite(ctx stdcontext.Context, env Env, fragments Fragments) *Plan {
	src := d.src
	p := newBuilder(src.text, src.enc, src.escapes)
	p.addRelations(d.ownRelations(schemaNames()))
	prefix := freePrefix(d.skeleton) // what is in a literal is no name
	ed := newEdits(src.text)
	pieces := make([]piece, len(d.tree.Stmts))
	for i, raw := range d.tree.Stmts {
		reg := src.region(raw)
		if raw.Stmt.GetDoStmt() != nil {
			p.hasBlocks()
		}
		pieces[i].span = src.tokens(reg.first, reg.end)
		if len(d.calls[i]) == 0 {
			continue
		}
		for _, c := range d.calls[i] {
			if c.match.Func.Signals {
				p.useSignals()
			}
		}
		st := &statement{
			src:       src,
			ed:        ed,
			plan:      p,
			fragments: fragments,
			prefix:    prefix,
			env:       env,
			calls:     d.calls[i],
			parse:     func(text string) (*pg_query.ParseResult, error) { return d.parseWithin(ctx, text) },
		}
		st.indexCalls(raw.Stmt)
		mark, placed := ed.mark(), p.numbered()
		refusal := st.guardCalls(raw.Stmt, d.prepared || len(d.tree.Stmts) > 1)
		if refusal == nil {
			refusal = st.place(raw.Stmt, reg)
		}
		if refusal != nil && refusal.place && st.many && st.checked {
			p.forgetCalls(placed)
			ed.cut(mark)
			if again := st.inRows(raw.Stmt, reg); again == nil {
				refusal = nil
			}
		}
		if refusal != nil && refusal.place {
			p.forgetCalls(placed)
			ed.cut(mark)
			refusal = st.inPlace(raw.Stmt, refusal)
		}
		if refusal != nil {
			ed.cut(mark)
			ed.add(pieces[i].span, p.refuse(refusal))
			continue
		}
		st.keepValues(i)
	}
	o := &output{}
	pos := 0
	for i := range pieces {
		s := &pieces[i]
		ed.copy(o, pos, s.start)
		s.from = o.pieces()
		ed.render(o, s.span)
		s.to, pos = o.pieces(), s.end
	}
	ed.copy(o, pos, len(src.text))
	return p.finish(o.spliced(), pieces)
}

// parseWithin parses a text that is a part of a document's: in the document's turn while there is one.
func (d *document) parseWithin(ctx stdcontext.Context, text string) (*pg_query.ParseResult, error) {
	if d.isLong() {
		return d.lease.Parse(text)
	}
	return d.parser.Parse(ctx, text)
}

// freePrefix returns a prefix for names of our own that occurs nowhere in text.
func freePrefix(text string) string {
	prefix := "mbus4_"
	for i := 1; strings.Contains(text, prefix); i++ {
		prefix = fmt.Sprintf("mbus4x%d_", i)
	}
	return prefix
}
