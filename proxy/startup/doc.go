// Package startup is what comes before authentication: places for those that have not logged in
// ([Gate], [Client]), and the negotiation of TLS up to the startup packet ([Negotiate]).
//
// # Invariants
//
//   - What a client can take before it has logged in is bounded: connections, bytes, and places with the server.
//   - Whoever says nothing is in nobody's way: a full gate takes the place of the one that is silent for longest, never of
//     one that the proxy or the server keeps waiting.
//
// # What it refuses to know
//
// What the startup packet says, servers and sessions. Of ours it imports wire, fatal and endpoint.
package startup
