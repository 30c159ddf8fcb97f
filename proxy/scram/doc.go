// Package scram is SCRAM-SHA-256 (RFC 5802, RFC 7677) on both sides of an exchange, as Postgres
// speaks it: [Server] is one in which the proxy is the server, [Client] one in which it is the
// client.
//
// # Invariants
//
//   - A client's messages are read with the leniency of auth-scram.c and refused in its words.
//   - No password is ever seen: a [Verifier] and a proof give the key with which a [Client] proves itself.
//
// # What it refuses to know
//
// Messages of the protocol around it, connections, and where verifiers come from. Of ours it imports fatal.
package scram
