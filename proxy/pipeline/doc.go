// Package pipeline knows what the client of a session has requested and what of it is outstanding: [ClientFlow] walks over
// what comes from the client, the server's flow over what comes from the server, [Flows] are both of one session. It
// declares what the proxy asks about statements: [Rewriter], [Plan], [Prober].
//
// # Invariants
//
//   - Each session has one queue of outstanding requests. What a feed of the client's bytes adds is queued (Expect, [Inbox])
//     before the bytes are written to the server.
//   - A reply that cannot be one to the oldest outstanding request ends the session: see [IsOutOfStep].
//   - Every byte goes on as it came, except the text of a Query or Parse for which the Rewriter made a Plan, and the reports
//     (ErrorResponse, NoticeResponse) a Plan or the Rewriter changed. Besides, the statements that a Plan adds are sent, and
//     what the server replies to them is taken out (prelude.go, probe.go, Plan.Hidden).
//   - What a prepared statement or portal stands for is known in one table (names.go). Where it cannot be known, a statement that
//     depends on it is refused, or the session ends.
//   - Everything a client can make grow has a bound: outstanding requests, names, portals, texts.
//
// # What it refuses to know
//
// Connections, goroutines and loops: it does no input or output, though a feed may wait for a reply that the other direction
// reads. SQL: which statements matter, and what they do to names, it asks the Rewriter.
package pipeline
