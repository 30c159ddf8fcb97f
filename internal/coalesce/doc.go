// Package coalesce answers many who ask for the same with few runs of a function ([Group]).
//
// # Invariants
//
//   - An answer is of a run that began after it was asked for, unless too many wait already.
//   - One run is under way at a time, and runs take a tenth of the time at most.
//   - A panic ends a run, not the program.
//
// # What it refuses to know
//
// What is asked for, and by whom.
package coalesce
