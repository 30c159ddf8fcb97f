// Package pipeline knows what the client of a session has asked and what its server still owes: [ClientFlow] walks over
// what comes from the client, [ServerFlow] over what comes from the server, [Flows] are both of one session. It declares
// what the proxy asks about statements: [Rewriter], [Plan], [Asker].
//
// # Invariants
//
//   - Each session keeps one ordered queue of the replies its server still owes. What a feed of the client's bytes adds is
//     queued ([ServerFlow.Expect], [Inbox]) before the bytes are written to the server.
//   - A reply that cannot answer the head of the queue ends the session: see [IsOutOfStep].
//   - Every byte goes on as it came, except the text of a Query or Parse for which the Rewriter made a Plan, and the reports
//     (ErrorResponse, NoticeResponse) a Plan or the Rewriter changed. Besides, the statements that a Plan adds are sent, and
//     what the server replies to them is taken out (step.go, Plan.Hidden).
//   - Everything a client can make grow has a bound: what is owed, names, portals, texts.
//
// # What it refuses to know
//
// Connections, goroutines and loops: it does no input or output, though a feed may wait for a reply that the other direction
// reads. SQL, but for names that a text gives or takes; which statements matter is the Rewriter's part.
package pipeline
