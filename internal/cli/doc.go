// Package cli is the commands that talk to a database as a client does: what is in the queues, post
// and consume for scripts, what is dead, and the live table.
//
// They go through the proxy, with the rights of the role that the DSN names, and with statements
// that anybody could send. What they print of a database is hostile: no byte that a terminal could
// obey leaves Visible or the writers of JSON. A message is consumed in a transaction that commits
// only after it was written.
//
// The package knows no flags and no exit codes (cmd/mbusproxy has these), and nothing of the engine.
package cli
