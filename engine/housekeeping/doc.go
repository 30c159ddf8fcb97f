// Package housekeeping cleans up in one database. Its Keeper has a session while the database is in
// use, and in it everybody works in turn: the hinter raises the places where consuming begins to
// look, the sweeper removes what nobody will get, the releaser wakes messages that waited for
// others, and selectors and temporary queues that are out of use go.
//
// Invariants:
//   - Nothing here decides whether a message is delivered; but a message below its hint is hidden, and why none is stands at
//     hinter.
//   - Any number of Keepers may work in one database. They step around locked rows, and give up soon where a table is locked.
//   - A turn that took long is followed by a longer rest.
//   - A database that nobody uses has no session of the Keeper's.
//
// The package does not know who uses the database, or how a database comes to be served.
package housekeeping
