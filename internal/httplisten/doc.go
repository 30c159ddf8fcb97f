// Package httplisten has listeners for a small HTTP server beside the one that matters: [Places]
// bounds how many connections there are, [Both] takes connections with TLS and without on one
// address.
//
// # Invariants
//
//   - Whoever says nothing, or says it slowly, keeps nobody else out or waiting, and is closed after a while.
//   - A connection whose request is under way is not closed to make room.
//
// # What it refuses to know
//
// What is served, and to whom.
package httplisten
