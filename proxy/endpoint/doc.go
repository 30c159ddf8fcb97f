// Package endpoint is one of the two connections of a session, the client's or the server's, with or without TLS.
//
// # Invariants
//
//   - Reading belongs to one goroutine, writing to one other.
//   - An [Endpoint] that waits for its peer holds no buffer.
//   - Bytes that were read in plaintext never count as sent under TLS.
//
// # What it refuses to know
//
// Messages, but for the header that lies across two reads. Of ours it imports wire.
package endpoint
