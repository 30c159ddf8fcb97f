// Package refusal has the form in which the engine refuses: an Error, with SQLSTATE, message and
// hint, that a client gets to see as it is.
//
// Invariant: an Error's message and hint hold nothing that only the operator may know; that is in
// its cause, for the log.
//
// The package does not know what is refused, or why.
package refusal
