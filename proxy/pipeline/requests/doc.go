// Package requests has the rules of the protocol for requests: of which [Kind] a message of the
// client is, which replies the server may give to it, and what becomes of it, the [Outcome].
//
// # Invariants
//
//   - An Outcome is settled once, by the direction server to client, and can be read and waited for from anywhere.
//
// # What it refuses to know
//
// Which requests are outstanding, and to which of them a reply belongs: that is package pipeline's.
// It does no input or output.
package requests
