// Package wiretest holds what tests of the wire have in common: scripts of protocol messages that are
// played direct and through the proxy so that their replies can be compared byte by byte, and a TCP
// middleman that disturbs a connection at its frame boundaries.
//
// It knows the protocol of Postgres on its own and nothing of how the proxy works.
package wiretest
