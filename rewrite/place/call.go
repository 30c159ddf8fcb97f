package place

import (
	"mbusproxy/rewrite/find"
	"mbusproxy/rewrite/plan"
	"mbusproxy/rewrite/splice"
)

// call is a call while it is placed.
type call struct {
	*find.Call
	values map[string]plan.Given // what must be known of the arguments before the statement runs
	number int                   // 1-based, in the order in which the calls are placed

	// ref writes what stands in the server's text where the call stood. It is nil until the call is placed.
	ref func(o *splice.Output)
	// column and from say where the result is, if the call is one of callRows.
	column, from string
	// set is the callSet that the call is in; nil for none.
	set *callSet
	// srf says that what ref writes yields a set.
	srf bool
	// maySkip says that the call may not be evaluated at all: there are guards.
	maySkip bool
	// once says that the call is served by WITH queries that are evaluated once.
	once bool
	// alone says that the call is all that a SELECT without clauses has, columns that it stands in
	// FROM and nothing is read but columns of what it yields.
	alone, columns bool
	// reads is sqlfuncs.Use.Reads.
	reads []string
	// function says that the call is served in place, by a function in the database.
	function bool
	// named says that the column or table that is named after the call has got this name as an alias.
	named bool
	// wrapped says that ref writes a function around what serves the call, for FROM; see wrapInFrom.
	wrapped bool
	// guarded says that the call needs a guard; see guardCalls.
	guarded bool
}
