// Bench measures what mbusproxy costs and what its queues are worth, on a private Postgres, and
// writes the figures with a description of the machine to docs/bench.md (`make bench`).
//
// Everything that is compared runs in one go: the arms of a cell (direct, through pgbouncer,
// through the proxy) take turns, round after round, and the figure is the median of the rounds'
// ratios, since a machine's speed changes more between two minutes than the proxy costs. Where
// sessions say the same statement all the time they stay open, and the arms take turns twenty times
// a second (turns.go). Else the client is pgbench for all arms, with the same protocol and the same
// number of clients; where it cannot be, it is the same small one for all.
//
// A cell is invalid, never fast, when the numbers of messages before and after do not agree with
// what pgbench says it did, or when a consuming run came near the end of its messages. Missed
// targets are printed and marked; they do not fail the run. A failed or invalid cell does.
//
// The cells, for -only, by section; the parts of a name are what, how many at a time, protocol and clients:
//
//	^post/ ^consume/            calls against SQL written by hand, direct and through pgbouncer
//	^(post|consume)-            the same of other queues: headers, busy, named, fan, after (see workload.go)
//	^dyn/                       dyn_consume against consume
//	^select/ ^tls/ ^bulk/       pass-through against pgbouncer, in twice as many rounds and one
//	^cpu/                       the proxy's processor time for a call, against forwarding the same bytes
//	^snapshot ^idle ^semaphore  consuming behind dead rows, idle sessions, the task semaphore
//	^waiting                    calls that wait for messages
//	^tracing                    posts with a context in their comment, with tracing off and on
//	^watched                    a proxy whose metrics, console, page and tracing are in use, against one without
//	^seeing                     looking at 1,000 queues with 10,000,000 messages
//	^scraping                   the processor time of the server whose metrics are scraped; -scraping 1h for an hour
//
// With the default flags the whole takes about an hour on a machine that does nothing else. One
// cell takes about a minute, a section with -rounds 1 one to five. On a busy machine the ratios
// favour whoever has more threads.
//
// Bench looks at the real binary from outside: it knows the program's flags and SQL functions and
// nothing of its packages. It listens on loopback only and ends every process it started by its id.
package main
