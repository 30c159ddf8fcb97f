// Package upstream connects to Postgres servers: it reads Config.Upstream, finds the hosts that fit
// target_session_attrs, and dials, with TLS where that is asked for.
//
// # Invariants
//
//   - Targets are tried in their order; a session's cancel requests go to the very server that it has ([Connection.At]).
//   - Hosts are asked with the proxy's own role, on connections of their own, once for many sessions.
//
// # What it refuses to know
//
// Clients, and what is said on a connection after TLS. Of ours it imports wire and endpoint.
package upstream
