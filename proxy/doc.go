// Package proxy is the wire: it listens, negotiates TLS, relays startup and authentication, and
// then moves protocol messages between a client and a Postgres server. This package is its face:
// the [Server] and what it does as a whole, which is to accept, to reload, to drain and to cancel.
// The rooms below do the work:
//
//	wire        the bytes of the protocol
//	fatal       what the proxy itself says to clients
//	memory      what sessions share of memory
//	statements  what is asked about statements: the Rewriter, its Plans
//	pipeline    what the client has requested and what of it is outstanding
//	endpoint    one connection
//	listen      addresses and options of sockets
//	upstream    the servers
//	scram       SCRAM-SHA-256
//	auth        authentication
//	startup     clients that have not logged in
//	relay       the sessions
//
// # Invariants
//
//   - The proxy never makes up a reply inside a session. What it says itself (package fatal) is said
//     before the session has begun or as its last message.
//   - SASL with clients that bind channels is the one exchange that is not passed on as it came (docs/auth.md).
//
// # What it refuses to know
//
// SQL, the schema mbus4, passwords (it handles verifiers of them), and which statements matter:
// that is the Rewriter's part.
//
// # Names
//
// client and server are always the two peers of the proxy. Message types and fields are named as
// in the chapter "Frontend/Backend Protocol" of the Postgres manual.
package proxy
