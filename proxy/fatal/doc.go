// Package fatal has everything that the proxy itself says to a client: before a session begins, or as its last message.
// What is refused within a session is a Plan of package refuse, and then the server fails.
//
// # Invariants
//
//   - Each [Error] has an SQLSTATE, and a hint unless its words are those of Postgres.
//   - A client that has not logged in does not learn where servers are or what the system says about them.
//
// # What it refuses to know
//
// When each of them is said. It imports nothing of ours.
package fatal
