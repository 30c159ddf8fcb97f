// Package bench measures queues on a server of the user's, through the proxy, with the workload by
// which authors of queues compare: messages at a fixed rate and as fast as they go, consumers that
// work for a millisecond in the transaction that consumes, and what makes queues in tables slow: a
// snapshot that is held, sessions that scan under REPEATABLE READ, more load than usual, and the
// time after it.
//
// All that it makes bears a name of its own, and is removed when it ends, whether that is well,
// with an error or by a signal. The figures are those that a client sees: from the moment when a
// message was due to be posted to the moment when a consumer has it.
package bench
