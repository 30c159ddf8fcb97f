// Package admin opens the sessions that the engine itself needs, as the role and on the server that
// the DSN of --admin names.
//
// Invariants:
//   - Whatever is set for the role or the database, from the first statement on a session's names mean what they mean in
//     pg_catalog, and its literals are read as they are written.
//   - What other roles send with NOTIFY is not kept.
//   - A failure to connect is a refusal that a client may see: it names neither hosts nor passwords.
//
// The package does not know the schema mbus4, nor what its sessions are for.
package admin
