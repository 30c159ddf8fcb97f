// Package taken counts the messages that the open transaction of a session has taken, for people
// who look at it from outside: until it ends they are held, and nobody else gets them. [Messages]
// is told which commands have run and what the server's ReadyForQuery says.
//
// # Invariants
//
//   - Too many may be shown, and never too few; what is not known is shown as not known.
//   - What a client can make grow, which is savepoints, has a bound.
//
// # What it refuses to know
//
// Which messages they are, and the queue of requests: package pipeline tells which plan a reply belongs to.
package taken
