// Package memory is what all sessions of a proxy share of memory that clients can make grow: for
// long messages under way ([LongMessages]) and for what is remembered of texts ([Budget]).
//
// # Invariants
//
//   - Nobody waits for memory: who gets none does without.
//   - What a session has taken it gives back at its end at the latest.
//
// # What it refuses to know
//
// What the memory is for: bytes are only counted here. It imports nothing of ours.
package memory
