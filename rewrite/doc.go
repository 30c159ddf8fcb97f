// Package rewrite turns the text of a statement that calls functions of the schema mbus4 into a text that Postgres can
// run without them. Its rooms are the phases, in this order:
//
//	detect   may the text hold a call at all? Most texts end here.
//	parse    libpg_query, behind bounds and a line
//	place    finds the calls, decides for each by its position in the tree how it is served, or refuses it
//	splice   puts the text for the server together
//	plan     the outcome: that text, what must be done before it runs, and what errors about it become
//
// Below them all lie lex, the server's lexer, and tree, questions about a tree and its tokens.
//
// This package itself is a Rewriter: it leads a text through the phases, and keeps what it learns
// of the texts that differ only in their literals.
//
// Invariants: a statement stays one statement; prelude statements (calls whose work cannot be done
// inside a statement) are statements before it. A call is evaluated as often as a volatile function
// in its place would be, or it is refused. The client's text is never deparsed: what is not a call
// stays as it was written, comments included. The plan depends on nothing but the text, the
// plan.Session and the plan.Env.
//
// All rooms are pure: no network, no clock, no database. None knows what the SQL of a call does; a
// place.Fragments gives it to them.
package rewrite
