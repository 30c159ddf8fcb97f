// Package quota has places of which nobody takes all ([Places]).
//
// # Invariants
//
//   - An owner has no more places than its bound, and keeps nobody out who would have fewer.
//   - There are never more than all.
//
// # What it refuses to know
//
// What a place is for, and who its owner is.
package quota
