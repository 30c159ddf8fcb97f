// Package calls has the SQL that serves the calls of the catalogue's functions: sql/<function>.sql,
// whole and readable, which are text/templates. From it come the fragments for the rewriter, the
// functions in the database for calls that are served in place, the PL/pgSQL blocks of calls that
// take a statement of their own, and the statements of the engine's own that post and consume as
// clients do. What comes of it is shown in internal/rewriter/testdata/sql.
//
// Invariants:
//   - A text depends on the catalogue, the use of the call, the names around it and the Site only.
//   - What comes from a client is never read as a template.
//   - Identifiers and literals that come from clients are quoted.
//   - A function in the database gives what the text in the client's statement gives.
//
// The package opens no connection. It does not know where in a client's text a call stands.
package calls
