// Package listen binds the addresses of a proxy, shares them with a successor, and has the options
// of TCP sockets, which are the same towards clients and servers.
//
// # Invariants
//
//   - All addresses are bound, or none.
//   - The file of a unix socket belongs to the process that holds its lock; a stale one is replaced, one in use is not.
//
// # What it refuses to know
//
// The protocol, and what becomes of accepted connections. It imports nothing of ours.
package listen
