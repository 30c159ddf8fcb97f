// Package rewriter is the statements.Rewriter that package rewrite and the engine are together: the
// [Rewriter] has a text rewritten for the database of its session, and what it returns is a
// plan.Plan in the form in which the proxy asks (wirePlan).
//
// What a plan needs of the engine while it runs is done here: selectors get their rows and prelude
// statements their values ([PreludeMaker]), calls wait in the engine's lines (waiting.go), and the
// engine is told when a transaction has ended that may have changed something.
//
// # Invariants
//
//   - A text never fails here: what the engine refuses becomes a plan that refuses it.
//   - A Rewriter is safe for concurrent use, and a plan for that of many sessions.
//
// # What it refuses to know
//
// Messages and their order, which are the proxy's; SQL of calls, which is engine/calls'; and how
// the program is configured, which is internal/app's.
package rewriter
