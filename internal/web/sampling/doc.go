// Package sampling notes numbers of the process and of databases every few seconds, and makes the
// charts of the last hour of them: a [Sampler] notes, a [Figure] is a chart with its words.
//
// # Invariants
//
//   - What is kept of a database was asked in the session of a log-in that may see its queues, and is for such log-ins only.
//   - Of how many databases something is kept has a bound, and so has each of them (package history).
//
// # What it refuses to know
//
// Pages, requests and rights: whether a role may see the queues it is told.
package sampling
