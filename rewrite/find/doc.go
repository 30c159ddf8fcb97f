// Package find finds the calls of ours in a text, and what they give for the parameters of their
// functions: a [Call] is a node of the tree with its place in the text and its [Argument]s.
//
// # Invariants
//
//   - What [Calls] returns names a function that is in the catalogue. One whose arguments do not fit says so in Bad, in the words of Postgres; without the
//     schema it is none of ours then.
//   - A Call is not changed once it is returned.
//
// # What it refuses to know
//
// Where a call stands in its statement, and how it is served: that is package place's.
package find
