package sqlfuncs

// Use is how a call uses its function.
type Use struct {
	// Given holds the names (Param.Name) of the parameters that the call gives.
	Given map[string]bool
	// Fixed holds the names of those that are given the same constant or parameter of the statement for
	// all rows; {<parameter>} in Fragment.CTEs stands for such an argument.
	Fixed map[string]bool
	// Rows is set when the call is evaluated once for each row of a set, rather than once.
	Rows bool
	// Ordered is set where messages may wait for others.
	Ordered bool
	// Selective is set where consumers or triggers have selectors.
	Selective bool
	// Condition is set where the argument that Func.Condition names is known to be one expression;
	// it takes the place of {condition}.
	Condition bool
	// Numbered is set, with Rows, where each row of {c}_a is a call of its own and n its number in the text.
	Numbered bool
	// InPlace asks for an expression that the server evaluates where it stands, as often as it does
	// any volatile function; Rows and Selective make no difference then. Functions with Func.Step have none.
	InPlace bool
}

// Fragment is the SQL that serves one call; package engine/calls owns the texts, package rewrite splices
// them. Exactly one of the two is set. The placeholders are {hstore} for the quoted schema that
// holds hstore, {name} for the quoted name of the function as called and {k} for the number of the
// call in the text; in a literal {k} is the call's mark, which belongs into every error marker: the number and
// the session's secret. {secret} is the secret alone.
type Fragment struct {
	// Expr is an expression that may stand where the call stands; {<parameter>} stands for an
	// argument, already cast. It must bind as a function's call does: in parentheses, or nothing
	// weaker than a cast.
	Expr string
	// CTEs is the text of one or more common table expressions, separated by commas. {c} is a
	// prefix unique in the statement: they read the arguments from {c}_a, whose columns are n and
	// the function's parameters, and the last one is {c}, with columns n and the name of the
	// function that serves the call; n says for which row of {c}_a a result is. Where the call
	// has Rows and yields a set, a third column o orders the results of one n. {<parameter>} stands for
	// an argument in Use.Fixed, already cast.
	CTEs string
	// OneCall says that with Use.Numbered {c}_a may hold one call only: errors do not tell which it was.
	OneCall bool
	// InOrder says that {c} yields its rows in the order of {c}_a, one for each; where nothing else
	// is wanted of them, n need not tell them apart.
	InOrder bool
}
