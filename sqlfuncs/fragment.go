package sqlfuncs

// Use is how a call uses its function: what decides about the SQL that serves it.
type Use struct {
	// Given holds the names (Param.Name) of the parameters that the call gives.
	Given map[string]bool
	// Fixed holds the names of those that are given the same constant or parameter of the statement for
	// all rows; WITH queries may use such an argument as it is. A call of which there may be no row has none.
	Fixed map[string]bool
	// EitherOrder is set where Func.EitherOrder makes a difference: the first two arguments are given by position.
	EitherOrder bool
	// Rows is set when the call is evaluated once for each row of a set, rather than once.
	Rows bool
	// Ordered is set where messages may wait for others.
	Ordered bool
	// Condition is the argument that Func.Condition names where that is known to be one expression, ready to
	// stand in parentheses; else "".
	Condition string
	// Numbered is set, with Rows, where each row of the arguments is a call of its own and n its number in the text.
	Numbered bool
	// Reads holds the names of the columns of the result that the statement reads, in alphabetical
	// order; nil where it may read all.
	Reads []string
	// Traced is the width of the statement's trace context, which is kept with what the call posts;
	// 0: it has none. See TracePlace.
	Traced int
	// InPlace asks for an expression that the server evaluates where it stands, as often as it does
	// any volatile function; Rows makes no difference then. Functions with Func.Prelude have none.
	InPlace bool
}

// Names is how the SQL that serves a call names what is around it.
type Names struct {
	// Call is unique in the statement: the name of the last WITH query, with which those of the others begin.
	Call string
	// Called is the function's name as called, quoted.
	Called string
	// Number is SQL for the call's number in the text, an integer.
	Number string
	// Mark belongs into every error marker, in a literal: the call's number and the session's secret.
	Mark string
	// Arg returns the SQL of an argument, cast to its type. Where it is nil there is a Place for it.
	Arg func(param string) string
}

// Argument is the SQL of an argument.
func (n Names) Argument(param string) string {
	if n.Arg == nil {
		return ArgPlace(param)
	}
	return n.Arg(param)
}

// Fragment is the SQL that serves one call; package engine/calls owns the texts, package rewrite splices
// them. Exactly one of the two is set.
type Fragment struct {
	// Expr is an expression that may stand where the call stands. It must bind as a function's call
	// does: in parentheses, or nothing weaker than a cast.
	Expr string
	// CTEs is the text of one or more common table expressions, separated by commas. They read the
	// arguments from <Call>_args, whose columns are n and the function's parameters. The last one
	// is <Call>, with columns n and the name of the function that serves the call; n says for which
	// row of the arguments a result is. Where the call has Rows and yields a set, a third column o
	// orders the results of one n.
	CTEs string
}

// Shape is what can be said of a Fragment without its text.
type Shape struct {
	// OneCall says that with Use.Numbered there may be one call only: errors do not tell which it was.
	OneCall bool
	// InOrder says that the results come in the order of the arguments' rows, one for each; where nothing else
	// is wanted of them, n need not tell them apart.
	InOrder bool
}
