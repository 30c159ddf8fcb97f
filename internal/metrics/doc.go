// Package metrics shows what a proxy does as Prometheus reads it. It keeps nothing: all numbers are
// read when they are asked for, from what the other packages count, once for all who ask meanwhile.
// What costs queries (the backlogs of consumers) is asked for only then.
//
// No name or label comes from a client, but for those of queues and consumers, which only roles
// that may create them can make; temporary queues, which every session may have, are not shown, and
// no more than MostConsumers consumers of a database are.
package metrics
