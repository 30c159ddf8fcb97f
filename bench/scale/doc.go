// Scale measures what calls cost beside, and in, what others have left in a database, on a private
// Postgres, and writes the figures to docs/scale.md (`make bench-scale`).
//
// A state is what is in a database: a million messages that wait, two thousand consumers, a
// snapshot that somebody holds. Each is built in a database of its own, on the way of bulk SQL
// where calls would take hours, but only with rows as calls make them. It is measured at four
// moments, since what the planner knows is part of the state:
//
//	not analyzed         nobody has analyzed the tables yet
//	analyzed             as autovacuum does after a while
//	analyzed empty       analyzed when there was nothing, then filled
//	prepared empty       the same, by sessions that have prepared, run and planned their statements when there was nothing
//
// At each moment calls of the queue in that state (own) and of a queue that has nothing to do with
// it (other) take turns with the same calls in a database that is clean, round after round. A
// figure is the median of the rounds' ratios, with the lowest and the highest. Autovacuum is off,
// so the statistics are those that the moment says.
//
// The names for -only are state/moment/queue/call, with blanks as they are: ^chain/ or
// /other/consume$. What is not measured is not built. With the default flags the whole takes some
// hours, with -size 0.01 about twenty minutes.
//
// Like bench, it looks at the real binary from outside.
package main
