// Bench measures what mbusproxy costs and what its queues are worth, on a private Postgres, and
// writes the figures with a description of the machine to docs/bench.md (`make bench`).
//
// Everything that is compared runs in one go: the arms of a cell (direct, through pgbouncer,
// through the proxy) take turns, round after round, and the figure is the median of the rounds'
// ratios, since a machine's speed changes more between two minutes than the proxy costs. The client
// is pgbench for all arms, with the same protocol and the same number of clients.
//
// A cell is invalid, never fast, when the numbers of messages before and after do not agree with
// what pgbench says it did, or when a consuming run came near the end of its messages. Missed
// targets are printed and marked; they do not fail the run. A failed or invalid cell does.
//
// The cells, for -only: select/PROTOCOL/CLIENTS, post/AT-A-TIME/PROTOCOL/CLIENTS,
// consume/AT-A-TIME/PROTOCOL/CLIENTS, snapshot/consume/prepared/8, idle/memory, idle/cpu, semaphore. With the
// default flags the whole takes about 25 minutes.
//
// Bench looks at the real binary from outside: it knows the program's flags and SQL functions and
// nothing of its packages. It listens on loopback only and ends every process it started by its id.
package main
