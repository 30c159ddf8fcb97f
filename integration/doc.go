// Package integration holds the rooms in which the real mbusproxy binary, built with the race detector, runs between
// real clients and a real Postgres. They hold it to two promises: ordinary work has the same results direct and through
// the proxy, and a queue call belongs to the client's own transaction.
//
//	calls       what each function means
//	statements  where in a statement a call may stand, and where errors point
//	delivery    which message comes to whom, when and in what order
//	workqueue   the work queue
//	clients     psql, pgx, JDBC, node-postgres, psycopg, libpq; logging in
//	wire        sessions message by message
//	model       random operations, held to a model
//	ops         failover, handover, poolers, faults, gigabytes
//	security    attacks, forged errors, selectors, rights
//	sagas       the example of docs/sagas.md
//
// The rooms do not import one another. Each is a test binary with a cluster and a proxy of its own, started by
// internal/harness; every test has a database of its own, so tests may run in parallel. internal/forms,
// internal/frontend and internal/programs are the three ways to speak to that database: in each form of the protocol,
// in single messages, and through a client program.
//
// Nothing here knows how the proxy works inside.
package integration
