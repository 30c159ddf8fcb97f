// Package trust has the question that whoever is about to read or call something of schema mbus4 asks first, in the same
// session and transaction: whose is it?
//
// Whoever reads a view or calls a function runs code of its owner with his own rights. So the engine, which has those of
// the admin role, the page, the console and the commands, which have those of a person, go on only where all of the
// schema belongs to somebody whom the role of the session has a reason to trust.
//
// Invariants:
//   - The question names nothing that is not in pg_catalog, and is asked with search_path = pg_catalog, pg_temp, which
//     [BeginReading] sets: it runs nobody's code.
//   - Where the answer is that all is trusted, nobody but those who are trusted can make it another one: see
//     docs/security.md. Where there is no schema anybody may make one, so whoever asks must not go on.
//
// The package opens no connection: it has the text, and reads the answer.
package trust
