// Package bulk does things with many dead messages at once: it puts them back where they came from
// (redrive), into another queue (move), removes them (purge), and takes back what was put anywhere
// (undo). It works in a session through the proxy, with the rights of that session's role and no
// others.
//
// Invariants:
//   - An operation is a row of mbus4.operation, which only the role that began it sees and goes on with. What is known of it is there; this package
//     keeps nothing.
//   - A batch is one transaction: the messages, how far it has come, what it takes to undo it, and the row of the audit. Whatever ends between two
//     batches or in the middle of one, each message is dealt with once.
//   - Nobody runs an operation but a session of its role. When that ends the operation is paused, without anybody writing so.
//   - Looking is bounded: a statement looks at ten thousand messages at most, counting gives up after a time, and both say so.
//
// The package opens no connection and knows neither the page nor the command line.
package bulk
