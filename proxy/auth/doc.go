// Package auth relays authentication, from the startup packet to the first ReadyForQuery
// ([Exchange]). It interferes in one place: SCRAM with a client that binds the exchange to its TLS
// connection (scram.go, docs/auth.md).
//
// # Invariants
//
//   - Who may log in is the server's decision, and its words and its delay are passed on.
//   - A client that the server does not let in learns nothing of a role, not even from how long the refusal takes.
//   - What either side sends is bounded by what Postgres would read.
//
// # What it refuses to know
//
// Passwords, and what becomes of the session. Of ours it imports wire, fatal, scram and endpoint.
package auth
