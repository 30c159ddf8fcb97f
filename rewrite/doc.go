// Package rewrite turns the text of a statement that calls functions of the schema mbus4 into a
// text that Postgres can run without them.
//
// It works in four phases: read the text (parse tree and tokens), find the calls, place each call
// (decide by its position in the tree how it can be served, or refuse it), and splice. A statement's
// calls are placed inline, where SQL that does the work goes into the statement; when one of them cannot
// be, all are placed in place, where they become calls of volatile functions. The client's
// text is never deparsed: what is not a call stays as it was written, comments included, and every
// piece of the result knows where it came from, so positions in the server's errors can be mapped
// back.
//
// Two things must happen before such a text runs, and a Plan names them: selectors are to be checked,
// and steps, calls whose work cannot be done inside a statement, are to be done by statements of their
// own. That takes literals and bind parameters as arguments, and for steps a place that is evaluated
// exactly once.
//
// Invariants: a statement stays one statement, and steps are statements beside it; a call is evaluated as often as a volatile function
// in its place would be, or it is refused; the result depends on nothing but the text, the client
// encoding and the schema that holds hstore.
//
// The package is pure: no network, no clock, no database. It does not know what the SQL of a call
// does; a Fragments gives it that.
package rewrite
