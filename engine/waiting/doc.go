// Package waiting lets calls wait for messages: [Lines] knows who waits for what in which order,
// [Watcher] looks for all of them at once whether there is something, over one connection for each
// database in which calls wait.
//
// # Invariants
//
//   - Whoever is woken looks for himself, in his own session: to be woken promises nothing.
//   - One message wakes one of those who wait for the same, the one who has waited longest. Who is woken and leaves without it hands his
//     turn on.
//   - Nothing is lost between a look that finds nothing and the wait that follows it: what may have changed since the look began is looked
//     at once more.
//   - Nobody waits longer than to the next sweep for what was committed without the proxy's knowing.
//
// # What it refuses to know
//
// Sessions, transactions and the wire. What can be delivered it asks the database; it delivers nothing.
package waiting
