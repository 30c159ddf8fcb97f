// Package relay moves the bytes of sessions: [Sessions] are all of a proxy, [Session] is one. A session is
// moved by one of a few loops over epoll, where the system has it (loop_linux.go, looped*_linux.go); elsewhere it has a
// goroutine for each direction (goroutines.go, handoff.go). How a session ends is the same in both, for package life
// decides it: ending.go and loopedending_linux.go tell it what happens and do what it says.
//
// # Goroutines
//
// These are the goroutines of this room, and what ends each:
//
//	loop.run                of each loop             Sessions.Close, once no session is left
//	looped.rewrite          of a session in a loop,  the Rewriter's answer, for which it gets a context that ends
//	                        while the Rewriter has   with the session; the session does not wait for it
//	                        a statement
//	Session.clientToServer  of a session that is     the end of the client's stream, or that both connections are
//	                        in no loop               closed; it may be in the Rewriter as well
//	Session.serverToClient  of a session that is     that nothing more comes from the server, or that both
//	                        in no loop               connections are closed
//	timers                  of the grace time        one for each session that ends; it reports life.TimedOut
//
// Both connections are closed by whoever makes the transition into life.Closed. A session that is in no loop is
// forgotten when its last goroutine has ended; one of a loop at once.
//
// All others of the program are in docs/tour.md.
//
// # Invariants
//
//   - One server connection per client connection, for the whole life of both.
//   - What one connection has not taken keeps the other from being read: at most one batch for each direction is stored,
//     besides what docs/security.md bounds.
//   - An idle session holds no buffer for reading.
//   - A panic ends one session and is counted.
//   - Each event of package life has one goroutine that reports it, see ending.go; Cut, TimedOut, Drain and Expire come
//     from others.
//
// # Who owns what
//
// A session in a loop belongs to that loop's goroutine. While the Rewriter has a statement, the
// goroutine looped.rewrite owns the session's ClientFlow, and the loop does not touch it; the rest
// stays the loop's. A session in no loop has one goroutine for each direction, which owns that
// direction's flow and the reading from its connection; Session.mu guards what both need: the Inbox
// and the state of life.
//
// # What it refuses to know
//
// What messages mean (pipeline does), how a session ends (life does), and how sessions come about. Of upstream
// it knows only where a session's server is.
package relay
