// Package pattern says which patterns a selector may hold: of LIKE ([CheckLike], [Escape]) and
// regular expressions ([CheckRegexp]).
//
// # Invariants
//
//   - What is allowed is valid for Postgres in every encoding and under every setting: compiling it raises no error.
//   - What it takes is bounded: a regular expression needs no backtracking, and has so many states at most.
//
// # What it refuses to know
//
// Expressions and where in them a pattern stands.
package pattern
