package place

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	pg_query "github.com/pganalyze/pg_query_go/v6"

	"mbusproxy/rewrite/plan"
	"mbusproxy/rewrite/splice"
	"mbusproxy/rewrite/tree"
	"mbusproxy/sqlfuncs"
)

// The server parses and plans the body of a function once for each place in the text that calls it,
// and that takes ten to forty times as long as the call itself. So many calls that are served by
// functions become the rows of a WITH query, in which each function is called in one place, if each
// of them is evaluated once at most:
//
//	with r_args(n, f, b, w, h1, h2, …) as (values (1, 1, case when <a condition> then 1 else 0 end, 1, <arguments>), …),
//	     r as materialized (select a.n, a.b, case when a.f = 1 and a.b = a.w then mbus4.at_post(a.h1, …) end as f1, … from r_args a)
//	values ((select f1 from r where n = 1 limit 1)), ((select case b when 1 then … end from r where n = 2 limit 1)), …
//
// f says which function the row is for, w in which branch of a CASE the call stands, and b which
// branch is taken. Where several branches hold calls, b is looked up in a WITH query k(n, choice).
// The rows are in the order of the text, and a scan evaluates one after the other. So each function
// sees what those before it have done, as if it stood where the call stands. LIMIT 1 keeps scans
// from reading further than they must.
//
// If one of the calls cannot stand in a row, all calls of the statement are served by functions where they stand.

// callRows are calls of a statement that share a WITH query, in the order of the text.
type callRows struct {
	st      *statement
	name    string
	calls   []*call
	kinds   []int                      // of each, an index of exprs
	guards  [][]func(o *splice.Output) // of the position of each
	branch  []branch
	exprs   []rowExpr
	columns []string // their types
}

// rowExpr is the call of one of the functions, for the rows that are for it.
type rowExpr struct {
	text    string
	columns map[string]int // of the arguments, by parameter
}

// rowNames returns the names for a function that is called for rows of a. The number of a call stands in its row.
func (st *statement) rowNames(c *call) sqlfuncs.Names {
	names := st.names(c, "")
	names.Number, names.Mark = "a.n", "'||a.n||' "+sqlfuncs.SecretPlace
	return names
}

// pointRows are the callRows and the choices of a point.
type pointRows struct {
	rows    []*callRows
	choices []*choice
}

// inRows serves the calls of a statement as rows, or returns a refusal.
func (st *statement) inRows(stmt *pg_query.Node, reg tree.Region) *plan.Refusal {
	st.unplace()
	st.rows = map[*point]*pointRows{}
	defer func() { st.rows = nil }()
	st.shared = st.sharedNumbers(stmt)
	return st.placeAll(stmt, reg)
}

// rowsAt returns the pointRows of a point, which it makes if need be.
func (st *statement) rowsAt(p *point) *pointRows {
	r := st.rows[p]
	if r == nil {
		r = &pointRows{}
		st.rows[p] = r
		p.add(func(o *splice.Output) { r.write(o) })
	}
	return r
}

// placeInRow serves a call that is evaluated once at most.
func (st *statement) placeInRow(c *call, ctx context) *plan.Refusal {
	f := c.Match.Func
	// A call in the arguments of another would have to be in an earlier WITH query than that, and
	// yet behind the calls before both.
	if f.Set || f.Prelude || len(f.Params) == 0 || len(c.boundArgs()) > 0 || tree.HasOutside(st.isSet, c.List...) || st.writesBelow(c.List...) ||
		ctx.branch.of != nil && len(ctx.guards) > 0 {
		return refusePosition(c, placeMany)
	}
	at := st.rowsAt(ctx.point)
	var rows *callRows
	if len(at.rows) > 0 {
		rows = at.rows[len(at.rows)-1]
	}
	name := st.number(c)
	if rows == nil || len(rows.calls) == callsInSet {
		rows = &callRows{st: st, name: name}
		at.rows = append(at.rows, rows)
	}
	use := sqlfuncs.Use{
		Given: c.given(), EitherOrder: c.EitherOrder(), Ordered: st.env.Ordered, InPlace: true, Numbered: true, Traced: st.traced,
	}
	if use.Given["headers"] {
		st.plan.UseHeaders()
	}
	kind := rows.kind(f, st.fragments.Fragment(f, use, st.rowNames(c)).Expr)
	rows.calls, rows.kinds, rows.guards, rows.branch = append(rows.calls, c), append(rows.kinds, kind), append(rows.guards, ctx.guards), append(rows.branch, ctx.branch)
	c.column = fmt.Sprintf("%s.f%d", rows.name, kind+1)
	// Volatile, as the call was: see placeInSet.
	c.from = fmt.Sprintf(" from %s where n = %d and pg_catalog.clock_timestamp() is not null limit 1", rows.name, c.number)
	c.ref = func(o *splice.Output) {
		o.Write("(select "+c.column+" as "+c.Identifier()+c.from+")"+st.asRow(c), c.Start)
	}
	st.ed.Add(c.Span, c.ref)
	return nil
}

// choices reports whether any of the calls stands in a branch of a CASE.
func (r *callRows) choices() bool {
	return slices.ContainsFunc(r.branch, func(b branch) bool { return b.of != nil })
}

// kind returns the index in exprs of a function's call. Functions share columns of the same type.
func (r *callRows) kind(f *sqlfuncs.Func, text string) int {
	if i := slices.IndexFunc(r.exprs, func(e rowExpr) bool { return e.text == text }); i >= 0 {
		return i
	}
	e := rowExpr{text: text, columns: map[string]int{}}
	from := map[string]int{} // by type, the first column that the function has not taken yet
	for _, p := range f.Params {
		if !strings.Contains(text, sqlfuncs.ArgPlace(p.Name)) {
			continue
		}
		t := p.Type.SQL()
		i := slices.Index(r.columns[from[t]:], t) + from[t]
		if i < from[t] {
			i = len(r.columns)
			r.columns = append(r.columns, t)
		}
		e.columns[p.Name], from[t] = i, i+1
	}
	r.exprs = append(r.exprs, e)
	return len(r.exprs) - 1
}

// column returns the name of column i.
func column(i int) string { return "h" + strconv.Itoa(i+1) }

// write writes the WITH queries.
func (r *pointRows) write(o *splice.Output) {
	for i, k := range r.choices {
		if i%choicesInSet == 0 {
			o.Write(k.rows+"(n, choice) as materialized (values ", k.at)
		} else {
			o.Write(", ", k.at)
		}
		o.Write(fmt.Sprintf("(%d, ", k.n), k.at)
		k.write(o)
		o.Write(")", k.at)
		if i%choicesInSet == choicesInSet-1 || i == len(r.choices)-1 {
			o.Write("), ", k.at)
		}
	}
	for i, rows := range r.rows {
		if i > 0 {
			o.Write(", ", rows.calls[0].Start)
		}
		rows.write(o)
	}
}

// write writes the two WITH queries of the rows.
func (r *callRows) write(o *splice.Output) {
	at, choices := r.calls[0].Start, r.choices()
	o.Write(r.name+"_args(n, f", at)
	if choices {
		o.Write(", b, w", at)
	}
	for i := range r.columns {
		o.Write(", "+column(i), at)
	}
	o.Write(") as (", at)
	before, between, after := rowList(r.guards)
	for i, c := range r.calls {
		if i > 0 {
			before = between
		}
		o.Write(fmt.Sprintf("%s%d::bigint, %d", before, c.number, r.kinds[i]+1), c.Start)
		switch k := r.branch[i]; {
		case k.of != nil && k.of.call != nil:
			o.Write(", ", c.Start)
			k.of.write(o)
			o.Write(fmt.Sprintf(", %d", k.n), c.Start)
		case k.of != nil:
			o.Write(fmt.Sprintf(", %s, %d", k.of.look(), k.n), c.Start)
		case choices:
			o.Write(", 0, 0", c.Start)
		}
		r.writeRow(o, i)
		writeGuards(o, r.guards[i], c.Start)
		o.Write(after, c.Start)
	}
	o.Write("), "+r.name+" as materialized (select a.n", at)
	taken := ""
	if choices {
		o.Write(", a.b", at)
		taken = " and a.b = a.w"
	}
	for i, e := range r.exprs {
		o.Write(fmt.Sprintf(", case when a.f = %d%s then ", i+1, taken), at)
		writePlaces(o, e.text, at, func(param string) { o.Write("a."+column(e.columns[param]), at) })
		o.Write(" end as f"+strconv.Itoa(i+1), at)
	}
	o.Write(" from "+r.name+"_args a)", at)
}

// writeRow writes the arguments of call i.
func (r *callRows) writeRow(o *splice.Output, i int) {
	st, c := r.st, r.calls[i]
	given := map[int]string{}
	for p, column := range r.exprs[r.kinds[i]].columns {
		given[column] = p
	}
	for j, t := range r.columns {
		o.Write(", ", c.Start)
		p, ok := given[j]
		switch {
		case !ok && i == 0:
			o.Write("null::"+t, c.Start)
		case !ok:
			o.Write("null", c.Start)
		default:
			st.writeArg(o, c, c.Param(p))
		}
	}
}
