package rewrite

import "mbusproxy/sqlfuncs"

// Fragments knows the SQL of each function. Package engine implements it.
type Fragments interface {
	Fragment(f *sqlfuncs.Func, use sqlfuncs.Use, names sqlfuncs.Names) sqlfuncs.Fragment
	// Shape says what such a fragment is like.
	Shape(f *sqlfuncs.Func, use sqlfuncs.Use) sqlfuncs.Shape
	// ImpliedArgs returns SQL for the implied parameters of a call by a family's name, such as
	// consume_a_by_b: one expression for each, decided by the database where the name has several
	// readings. mark is that of sqlfuncs.Names.
	ImpliedArgs(m sqlfuncs.Match, mark string) []string
	// Guard returns a boolean expression that a call without the schema bears where it may no longer mean
	// ours: it is true, or fails. The arguments are those of a Candidate, mark that of sqlfuncs.Names.
	Guard(name string, args int, named []string, mark string) string
}
