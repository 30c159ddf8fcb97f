// Package plan is the outcome of rewriting a text: the text for the server, what must be done
// before it runs (selectors to check, prelude statements to run), and what becomes of the server's
// errors about it.
//
// A Plan is immutable; a Builder makes it. It holds for one client's text, but Transfer makes the
// plan for another text that differs only in its literals, so plans are worth keeping. It may be
// shared between sessions: the secret of a session is put in by For.
//
// It does not know how calls were placed, nor how the server is asked.
package plan
