package rewrite

import "mbusproxy/sqlfuncs"

// Fragments knows the SQL of each function. Package engine implements it.
type Fragments interface {
	Fragment(f *sqlfuncs.Func, use sqlfuncs.Use) sqlfuncs.Fragment
	// ImpliedArgs returns SQL for the implied parameters of a call by a family's name, such as
	// consume_a_by_b: one expression for each, decided by the database where the name has several
	// readings. The placeholders are those of Fragment.
	ImpliedArgs(m sqlfuncs.Match) []string
	// Guard returns a boolean expression that a call without the schema bears where it may no longer mean
	// ours: it is true, or fails. The arguments are those of a Candidate, the placeholders those of Fragment.
	Guard(name string, args int, named []string) string
}
