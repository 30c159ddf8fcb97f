// Package refuse has what the proxy itself answers to a message in a session: each function but
// [Unread] makes a Plan for which the server fails, and whose EditReport puts the proxy's words in
// the place of the server's. So the order of the replies and the state of the transaction are the
// server's.
//
// # Invariants
//
//   - All that package pipeline says itself is said here, with SQLSTATE and, where there is a way out, a hint. What the Rewriter refuses is the Rewriter's; what is
//     said before a session, or as its last message, is in package fatal.
//   - If the transaction has failed before, the client is told that, as the server would.
//
// # What it refuses to know
//
// When a message is to be refused, and how it is made to fail: that is package pipeline's.
package refuse
