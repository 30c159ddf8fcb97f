// Package statements declares what the proxy asks about the statements of its clients: a [Rewriter]
// decides what becomes of a text, a [Plan] is what the server gets in its place. It is to whoever
// implements these what database/sql/driver is to a driver: here are the questions, package
// pipeline puts them, and internal/rewriter gives the answers.
//
// Most Plans answer the questions of Plan only. What few of them can do beside is an interface of
// its own, which the proxy looks for: the statement may have to wait ([Waiter]), may be run by a
// prepared statement ([Preparable]), is traced ([Traced]), takes messages ([Taker]), has a name to
// show ([Labeled]). Likewise with Rewriters: [Prober], [Recaller], [PreparedTransactions].
//
// # Invariants
//
//   - Nothing here does anything: there are interfaces, and the values that go through them.
//   - A Plan is immutable and may be shared between sessions. What is a session's own comes with each question, in a [Context].
//
// # What it refuses to know
//
// When the questions are put, and in which order messages go to the server: that is package
// pipeline's. SQL, queues and databases: those are known to whoever answers.
package statements
