// Package proxy is the wire: it listens, negotiates TLS, relays startup and authentication, and
// then moves protocol messages between a client and a Postgres server.
//
// # Invariants
//
//   - One server connection per client connection, for the whole life of both.
//   - Every byte is forwarded as it came, except the text of a Query or Parse for which the
//     [Rewriter] made a [Plan], the report (ErrorResponse, NoticeResponse) a Plan or the Rewriter
//     changed, and SASL with clients that bind channels (authscram.go, docs/auth.md). Besides,
//     the statements that a Plan adds are sent, and what the server replies to them is taken out
//     (step.go, Plan.Hidden).
//   - The proxy never makes up a reply inside a session. What it says itself (report.go) is said
//     before the session has begun or as its last message.
//   - Each session keeps one ordered queue of the replies its server still owes. The direction
//     client -> server appends before it writes, the direction server -> client consumes.
//     A reply that cannot answer the head of the queue ends the session.
//   - Only message headers are looked at, unless a body is needed; nothing is allocated from a
//     length on the wire without a cap; a session that waits holds no buffer.
//
// # What it refuses to know
//
// SQL, the schema mbus4, passwords (it handles verifiers of them), and which statements matter: that is the Rewriter's part.
//
// # Names
//
// client and server are always the two peers of the proxy. Message types and fields are named as
// in the chapter "Frontend/Backend Protocol" of the Postgres manual.
package proxy
