// Package relay moves the bytes of sessions: [Sessions] are all of a proxy, [Session] is one. A session without TLS is
// moved by one of a few loops over epoll, where the system has it (loop_linux.go, looped*_linux.go); any other has a
// goroutine for each direction (goroutines.go, handoff.go). How a session ends is the same in both, for package life
// decides it: ending.go and loopedending_linux.go tell it what happens and do what it says.
//
// # Goroutines
//
// These are all goroutines of the proxy, and what ends each. In this room:
//
//	loop.run                of each loop             Sessions.Close, once no session is left
//	looped.rewrite          of a session in a loop,  the Rewriter's answer, for which it gets a context that ends
//	                        while the Rewriter has   with the session; the session does not wait for it
//	                        a statement
//	Session.clientToServer  of a session that is     the end of the client's stream, or that both connections are
//	                        in no loop               closed; it may be in the Rewriter as well
//	Session.serverToClient  of a session that is     that nothing more comes from the server, or that both
//	                        in no loop               connections are closed
//	timers                  of the grace time        they run no longer than a transition of package life takes
//
// Both connections are closed by whoever makes the transition into life.Closed. A session that is in no loop is
// forgotten when its last goroutine has ended; one of a loop at once.
//
// In the rest of proxy:
//
//	Server.accept           of each listener         Server.Shutdown or Close, which close the listeners
//	the startup of a client (server.go)              that it has logged in or failed to; the startup timeout;
//	                                                 Shutdown, Close
//	Server.Shutdown's wait  (shutdown.go)            the end of the last startup and session
//	Server.cancelAll        (cancel.go), at the end  the server's answer, or two seconds
//	                        of a drain
//	asking the hosts        (upstream/route.go)      their answers, or the end of the startup that asked
//	timers                  pipeline/holding.go: whether the client of a statement with the Rewriter is there;
//	                        startup/gate.go: who is to make room; auth/verifiers.go: what is forgotten.
//	                        They run for a moment
//
// # Invariants
//
//   - One server connection per client connection, for the whole life of both.
//   - What one connection has not taken keeps the other from being read; nothing else is stored.
//   - A session that waits holds no buffer.
//   - A panic ends one session and is counted.
//   - Each event of package life has one goroutine that reports it, see ending.go; only Cut comes from anywhere.
//
// # What it refuses to know
//
// What messages mean (pipeline does), how a session ends (life does), and how sessions come about. Of ours it imports
// these two, wire, fatal, memory, endpoint, and of upstream where a session's server is.
package relay
