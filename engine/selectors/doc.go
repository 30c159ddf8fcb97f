// Package selectors keeps the rows of mbus4.selector, of which each consumer and trigger with a
// selector refers to one: a row is made before the call that uses it runs, compiled again when
// another version or server made it, and removed when nobody uses it any more. It also gives
// selectors that can fail a place where their errors are counted.
//
// Invariants:
//   - A row's condition is what this program, or a newer one, compiled for this server; it never changes what it means.
//   - Nothing of a client's is evaluated in making a row.
//   - The number of rows and of places for errors is bounded, that of rows also for each role.
//
// The package does not know the language of selectors, which is package selector's, nor calls.
package selectors
