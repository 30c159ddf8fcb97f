// Package engine serves databases: when one is first asked for it has its schema mbus4 installed or
// upgraded, and then its services run until the database is gone or the engine is closed. What it
// does that with is in the rooms below:
//
//   - calls: the SQL that serves calls
//   - schema: what is installed in a database, and what may be done to it
//   - selectors: the rows of selectors
//   - semaphore: task semaphores, for programs, and the service that grants their slots
//   - housekeeping: the services that clean up
//   - admin: the engine's own sessions
//   - refusal: the form of an error that a client gets to see
//
// Invariants of all of them:
//   - A schema mbus4 that is not ours, or newer than this program, is left untouched.
//   - Nothing the engine keeps in memory decides whether a message is delivered. All of it can be
//     lost at any moment, and any number of proxies may work on one database.
//   - The services of a database hold one connection while it is in use, two where it has semaphores,
//     and none while it is idle, so that it can be dropped, renamed or used as a template as without a
//     proxy.
//   - Housekeeping never waits for a client's lock.
//
// The engine does not know sessions of clients, the wire or the texts clients send.
package engine
