// Package pipeline knows what the client of a session has requested and what of it is outstanding:
// [ClientFlow] walks over what comes from the client, the server's flow over what comes from the
// server, [Flows] are both of one session. What it asks about statements is in package statements:
// Rewriter, Plan.
//
// # Invariants
//
//   - Each session has one queue of outstanding requests. ClientFlow.Feed collects the new ones; the relay queues them (Expect,
//     [Inbox]) before it writes that Feed's output to the server.
//   - A reply that fits none of the ways in which the replies so far can be read (there is nearly always one: reading.go) ends
//     the session: see [IsLostSync].
//   - Every byte goes on as it came, except: the text of a Query or Parse for which the Rewriter made a Plan; reports
//     (ErrorResponse, NoticeResponse) that a Plan or the Rewriter changed; the command tag that a Plan promises; a message that is
//     refused (package refuse), in whose place the server gets one that fails; a Bind that is sent again behind a prelude statement that ended the transaction; a Query that
//     a statement of ours runs (prepared.go), or that has waited (waiting.go), and the unnamed statement where it is one of ours (standin.go). What used a statement of
//     ours that was gone is sent again (resend.go).
//   - The proxy also sends statements of its own (prelude.go, probe.go) and, where too much is outstanding, a Flush. Of the replies to
//     them the client sees nothing but errors and notices.
//   - An error is hidden only where what the client sent is sent again, and until then nothing that came behind it is forwarded.
//   - What a prepared statement or portal stands for is known in one table (package names). Where it cannot be known, a statement that
//     depends on it is refused, or the session ends.
//   - Everything a client can make grow has a bound: outstanding requests, names, portals, texts.
//
// # Who owns what
//
// The direction client to server owns ClientFlow, the other the server's flow with the queue and
// its readings. Both use the settings (an atomic pointer), the table of names (its mutex), what is
// known of statements of ours (preparedNames), and for each message that has to be waited for an
// outcome, which is settled once.
//
// # What it refuses to know
//
// Connections, goroutines and loops: it does no input or output, though a feed may wait for a reply
// that the other direction reads. SQL: which statements matter, and what they do to names, it asks
// the Rewriter (statements.Rewriter).
package pipeline
