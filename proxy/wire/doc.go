// Package wire reads and writes the bytes of the protocol: startup packets, the headers of messages, the few bodies
// that matter to the proxy, and what of a batch goes on.
//
// # Invariants
//
//   - A message is looked at where it lies; it is copied only when it does not lie in one batch ([Framer], [Splicer]).
//   - Nothing is allocated from a length on the wire without a cap: maxMessage and the Max constants.
//   - What does not lie in a pooled buffer when a session waits is a message under way; see package memory.
//
// # What it refuses to know
//
// Connections, sessions, and what messages have to do with each other. It imports nothing of ours.
//
// Messages and their fields are named as in the chapter "Frontend/Backend Protocol" of the Postgres manual.
package wire
