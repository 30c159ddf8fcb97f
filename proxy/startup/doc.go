// Package startup is what comes before authentication: places for those that have not logged in
// ([Gate], [Client]), and the negotiation of TLS up to the startup packet ([Negotiate]).
//
// # Invariants
//
//   - What a client can take before it has logged in is bounded: connections, bytes, and places with the server.
//   - What the server and the processors do for those who never log in is bounded, too: log-ins that come to nothing by the
//     second, as are connections that come to no session ([Pace]), startups by processors ([Turns]). Who has logged in before from the same address passes the others.
//   - Whoever says nothing is in nobody's way: a full gate takes the place of the one that is silent for longest, never of
//     one that the proxy or the server keeps waiting.
//
// # What it refuses to know
//
// What the startup packet says, servers and sessions. Of ours it imports wire, fatal and endpoint.
package startup
