// Package place decides for each call of ours in a text, by its position in the tree, how it is served, and writes
// the SQL that serves it. Package find has found the calls.
//
// It does so in three steps, which the names of its files begin with:
//
//	check_     what can be said of a call without its position; values.go: what must be known before the statement runs
//	position_  walks down the statement: what a place in it means for a call there (context)
//	serve_     writes what stands for the call, or for the SELECT around it
//
// A statement's calls are placed inline, where SQL that does the work goes into the statement,
// mostly in WITH queries. When one of them cannot be, all are placed in place: each becomes a call
// of a volatile function in the database. When that cannot be, either, the statement is refused
// (refusal.go).
//
// Invariants: a call is evaluated as often, and sees as much of the others' effects, as a volatile
// function in its place would; a call whose position is not understood is refused.
//
// It does not know what the SQL of a call does; a Fragments gives it that.
package place
