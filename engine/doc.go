// Package engine owns the schema mbus4: it creates and upgrades it, gives the rewriter the SQL of
// each call, and keeps house in the databases served.
//
// Invariants:
//   - A schema mbus4 that is not ours, or newer than this program, is left untouched.
//   - Nothing the engine keeps in memory decides whether a message is delivered. All of it can be
//     lost at any moment, and any number of proxies may work on one database.
//   - The services of a database hold one connection while it is in use, two where it has semaphores,
//     and none while it is idle, so that it can be dropped, renamed or used as a template as without a
//     proxy.
//   - Housekeeping never waits for a client's lock.
//
// The engine does not know sessions, the wire or the texts clients send.
package engine
