// Package relay moves the bytes of sessions: [Sessions] are all of a proxy, [Session] is one. A session without TLS is moved by
// one of a few loops over epoll, where the system has it (loop_linux.go); any other has a goroutine for each direction
// (session.go).
//
// # Invariants
//
//   - One server connection per client connection, for the whole life of both.
//   - What one side has not taken keeps the other from being read; nothing else is stored.
//   - A session that waits holds no buffer.
//   - A panic ends one session and is counted.
//
// # What it refuses to know
//
// What messages mean (pipeline does), and how sessions come about. Of ours it imports wire, fatal, memory, pipeline, endpoint,
// and of upstream where a session's server is.
package relay
