package rewrite

import (
	pg_query "github.com/pganalyze/pg_query_go/v6"

	"mbusproxy/sqlfuncs"
)

// rangeFunction places the calls of a function in FROM, or of a list of them (ROWS FROM).
func (st *statement) rangeFunction(rf *pg_query.RangeFunction, ctx context) *Refusal {
	for i, item := range rf.Functions {
		fn := item.GetList().GetItems()[0]
		fc := fn.GetFuncCall()
		c := st.callOf(fc)
		if fc == nil || c == nil {
			if ctx.beside && hasOutside(isColumnRef, fn) && st.writesBelow(fn) {
				return st.elsewhereNode(fn, "LATERAL")
			}
			if r := st.expr(fn, ctx); r != nil {
				return r
			}
			continue
		}
		if r := st.functionInFrom(rf, c, ctx); r != nil {
			return r
		}
		if i == 0 && rf.Alias == nil {
			st.nameFunction(rf, c)
		}
	}
	return nil
}

func (st *statement) functionInFrom(rf *pg_query.RangeFunction, c *call, ctx context) *Refusal {
	f := c.match.Func
	if !f.Result.Composite() && rf.IsRowsfrom {
		return refusePosition(c, "ROWS FROM")
	}
	if f.Effect == sqlfuncs.Writes && ctx.beside && hasOutside(isColumnRef, c.list...) {
		return refusePosition(c, "FROM with arguments from other items of FROM (LATERAL)")
	}
	if ctx.refused != "" && f.Effect == sqlfuncs.Writes {
		return refusePosition(c, ctx.refused)
	}
	if r := st.exprs(ctx, c.list...); r != nil {
		return r
	}
	if st.takesSet(c) {
		return refusePosition(c, "FROM with a set as argument")
	}
	if f.Effect == sqlfuncs.Writes {
		if r := st.placeOnce(c, ctx); r != nil {
			return r
		}
	} else {
		st.placeExpr(c)
	}
	if c.srf {
		return nil
	}
	st.wrapInFrom(c)
	return nil
}

// exprInFrom makes of expressions that serve calls in FROM what may stand there, under the calls' names.
func (st *statement) exprInFrom(rf *pg_query.RangeFunction) *Refusal {
	for i, item := range rf.Functions {
		c := st.callOf(item.GetList().GetItems()[0].GetFuncCall())
		if c == nil || !c.function && c.match.Func.Effect == sqlfuncs.Writes {
			continue
		}
		if !c.match.Func.Result.Composite() && rf.IsRowsfrom && (i > 0 || len(rf.Alias.GetColnames()) == 0) {
			return refusePosition(c, placeRowsFrom)
		}
		if !c.function {
			st.wrapInFrom(c)
		}
		if i == 0 && rf.Alias == nil {
			st.nameFunction(rf, c)
		}
	}
	return nil
}

// wrapInFrom puts what serves a call in FROM into a function that changes nothing, for FROM takes
// functions only.
func (st *statement) wrapInFrom(c *call) {
	if c.wrapped {
		return
	}
	c.wrapped = true
	inner := c.ref
	before, after := "coalesce(", ")"
	if c.match.Func.Result.Composite() {
		before, after = "pg_catalog.unnest(array[", "])"
	}
	c.ref = func(o *output) {
		o.write(before, c.start)
		inner(o)
		o.write(after, c.start)
	}
	st.ed.replace(c.span, c.ref)
}

// nameFunction gives a function in FROM the alias that its name was.
func (st *statement) nameFunction(rf *pg_query.RangeFunction, c *call) {
	if c.named {
		return
	}
	c.named = true
	s := st.src
	i := s.from(c.end)
	if rf.IsRowsfrom {
		i = s.next(s.at(c.start) - 1)
	}
	if s.kind(i) == pg_query.Token_WITH && s.kind(i+1) == pg_query.Token_ORDINALITY {
		i += 2
	}
	end := s.toks[i-1].end
	st.ed.extend(c.span, end, func(o *output) { o.write(" as "+sqlfuncs.QuoteIdent(c.match.Name), end) })
}
