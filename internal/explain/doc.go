// Package explain shows how the statements of a text are served, and the SQL that the server gets:
// for the command of that name. [Run] has them rewritten as the proxy would, and tells it as SQL
// with comments (show.go) or as JSON (json.go).
//
// # Invariants
//
//   - What is shown is what the server would get, to the last token, laid out for reading.
//   - Nothing is run and nothing is changed: the database, if one is named, is looked at in a session that may only read.
//
// # What it refuses to know
//
// The proxy, sessions, and how calls are served: that it asks rewrite, and internal/rewriter for
// what comes before a statement.
package explain
