// Package athand knows of the message that the proxy has at hand: one of which the Rewriter or a
// plan is asked, or whose statement waits for its turn. The server has nothing of it meanwhile, so
// what the server would do with it is done here: a cancel request reaches it, a shutdown ends its
// wait, and a client that leaves or is gone is noticed. One [Message] serves all messages of a session, one
// after the other.
//
// # Invariants
//
//   - A cancel request concerns the message at hand only if it was meant for its unit: see Message.Cancel. It is spent once, when that message fails.
//   - Whoever sleeps is woken once, by the turn or by what ends the wait, whichever comes first.
//
// # Who owns what
//
// The direction client to server takes messages up and lets them go. Cancel requests, turns, timers
// and shutdown come from anywhere; the mutex is between them.
//
// # What it refuses to know
//
// What is in the message, what its statement waits for, and what is sent to the server in its
// place: that is package pipeline's.
package athand
