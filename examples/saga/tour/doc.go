// Package tour books a tour as a saga: a room, two tickets and two transfers, each with a web service
// of its own, either all of them or none. It is an example of what consume_after and take are for;
// docs/sagas.md explains the pattern.
//
// Start posts the whole saga in one transaction: the messages of the way forward, the messages of the
// way back, and the bung that keeps these from being delivered. Services, each with its own
// connection, consume them. What keeps it exact:
//
//   - A service consumes a message and writes what came of it in one transaction. A service that dies
//     gives its message back.
//   - The world outside does not roll back. So a service notes that it is going to ask, and commits
//     that, before it asks; it asks under an idempotency key, the message's iid, which a message
//     keeps when it is put back; and cancelling under a key that is not known yet makes the key void.
//   - Locks are taken in one order: the bung, messages of the way forward, the row of the tour, those
//     of its reservations. Who gives up hands back its own message first and starts with the bung, so
//     two branches that fail at the same moment do not wait for each other in a circle.
//
// The package knows nothing of flags and printing, and nothing of the proxy: it is a client.
package tour
